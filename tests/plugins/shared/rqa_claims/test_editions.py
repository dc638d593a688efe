"""The date, version and standing in titles and names."""

from __future__ import annotations

import pytest

from rqa_claims import edition_of


@pytest.mark.parametrize(
    ("title", "path", "label"),
    [
        ("Gate manual, version 1.2", "manual.md", "version 1.2"),
        ("Gate manual", "manual-v1.2.md", "version 1.2"),
        ("Gate manual", "manual_v2.pdf", "version 2"),
        ("Gate manual (rev. 3)", "manual.md", "version 3"),
        ("Constitution (v1.9)", "constitution.txt", "version 1.9"),
        ("Usage", "borg-1.0/usage.rst", "version 1.0"),
        ("Python 3.12 documentation", "", "version 3.12"),
        ("logrotate", "logrotate-3.7.8/logrotate.8", "version 3.7.8"),
        ("Board minutes, 14 January 2025", "minutes.md", "2025-01-14"),
        ("Minutes", "2023-05-09-minutes.txt", "2023-05-09"),
        ("Minutes", "minutes-14-Jan-2025.md", "2025-01-14"),
        ("Fees", "fees_2024_05.txt", "2024-05"),
        ("Fees", "Fees 20240512 final.docx", "2024-05-12"),
        ("Rules 2019", "rules.md", "2019"),
        ("Choir", "2019/choir.md", "2019"),
        ("Statutes", "statutes-draft.md", "draft"),
        ("Hotels", "archive/travel/hotels.md", "archive"),
        ("Travel", "archive-2022/travel-2022-03.md", "2022-03, archive"),
        ("RFC", "rfc2024.txt", ""),
        ("Phone call", "call-2024-0815.txt", ""),
        ("2.1 Fees", "fees.md", ""),
        ("Prices 2024", "https://example.com/prices", ""),
    ],
)
def test_an_edition_is_in_the_title_or_the_name(title: str, path: str, label: str) -> None:
    assert edition_of(title, path).label == label


@pytest.mark.parametrize(
    ("older", "newer", "is_older"),
    [
        (("Fees 2023", "a/fees.md"), ("Fees 2024", "b/other.md"), True),
        (("Fees", "fees-v1.9.md"), ("Fees", "fees-v1.10.md"), True),
        (("Fees", "fees-2023.md"), ("Rules", "rules-2024.md"), False),  # another document
        (("Fees", "fees-2024.md"), ("Fees", "fees-2024-05.md"), False),  # of the same year
        (("Fees", "fees-draft-2025.md"), ("Fees", "fees-2024.md"), True),
        (("Fees", "fees-2023.md"), ("Fees", "fees.md"), False),  # it does not say that it is newer
    ],
)
def test_an_edition_is_older_if_another_of_its_document_says_so(
    older: tuple[str, str], newer: tuple[str, str], is_older: bool
) -> None:
    assert edition_of(*older).is_older(edition_of(*newer)) == is_older
