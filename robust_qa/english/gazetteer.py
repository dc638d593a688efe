"""Closed lists, as patterns: countries, sports, religions, colours and genres."""

from __future__ import annotations

import re

_COUNTRIES = """Afghanistan|Albania|Algeria|Andorra|Angola|Argentina|Armenia|Australia|Austria|Azerbaijan
|Bahamas|Bahrain|Bangladesh|Barbados|Belarus|Belgium|Belize|Benin|Bhutan|Bolivia|Bosnia and Herzegovina
|Botswana|Brazil|Brunei|Bulgaria|Burkina Faso|Burundi|Cambodia|Cameroon|Canada|Cape Verde
|Central African Republic|Chad|Chile|People's Republic of China|China|Colombia|Comoros
|Democratic Republic of the Congo|Republic of the Congo|Costa Rica|Croatia|Cuba|Cyprus|Czech Republic
|Czechoslovakia|Denmark|Djibouti|Dominican Republic|Dominica|East Timor|Ecuador|Egypt|El Salvador|England
|Equatorial Guinea|Eritrea|Estonia|Eswatini|Ethiopia|Fiji|Finland|France|Gabon|Gambia|Georgia|East Germany
|West Germany|Germany|Ghana|Greece|Grenada|Guatemala|Guinea-Bissau|Guinea|Guyana|Haiti|Honduras|Hungary
|Iceland|India|Indonesia|Iran|Iraq|Northern Ireland|Republic of Ireland|Ireland|Israel|Italy|Ivory Coast
|Jamaica|Japan|Jordan|Kazakhstan|Kenya|Kiribati|North Korea|South Korea|Kosovo|Kuwait|Kyrgyzstan|Laos
|Latvia|Lebanon|Lesotho|Liberia|Libya|Liechtenstein|Lithuania|Luxembourg|Madagascar|Malawi|Malaysia
|Maldives|Mali|Malta|Marshall Islands|Mauritania|Mauritius|Mexico|Micronesia|Moldova|Monaco|Mongolia
|Montenegro|Morocco|Mozambique|Myanmar|Burma|Namibia|Nauru|Nepal|Netherlands|New Zealand|Nicaragua|Nigeria
|Niger|North Macedonia|Macedonia|Norway|Oman|Pakistan|Palau|Palestine|Panama|Papua New Guinea|Paraguay
|Peru|Philippines|Poland|Portugal|Puerto Rico|Qatar|Romania|Russia|Rwanda|Samoa|San Marino|Saudi Arabia
|Scotland|Senegal|Serbia|Seychelles|Sierra Leone|Singapore|Slovakia|Slovenia|Solomon Islands|Somalia
|South Africa|South Sudan|Soviet Union|Spain|Sri Lanka|Sudan|Suriname|Sweden|Switzerland|Syria|Taiwan
|Tajikistan|Tanzania|Thailand|Togo|Tonga|Trinidad and Tobago|Tunisia|Turkey|Turkmenistan|Tuvalu|Uganda
|Ukraine|United Arab Emirates|United Kingdom|United States of America|United States|USA|Uruguay|Uzbekistan
|Vanuatu|Vatican City|Venezuela|Vietnam|Wales|Yemen|Yugoslavia|Zambia|Zimbabwe"""

_SPORTS = """association football|American football|Australian rules football|Gaelic football|football
|soccer|basketball|baseball|softball|ice hockey|field hockey|hockey|rugby league|rugby union|rugby|cricket
|tennis|table tennis|golf|volleyball|handball|water polo|polo|badminton|squash|snooker|darts|boxing
|wrestling|judo|karate|fencing|swimming|diving|gymnastics|athletics|cycling|rowing|sailing|skiing|biathlon
|figure skating|speed skating|curling|bobsleigh|archery|chess|lacrosse|hurling|netball|weightlifting
|motor racing|surfing|triathlon|sumo|mixed martial arts"""

_RELIGIONS = """Roman Catholic(?:ism)?|Catholic(?:ism| Church)?|Eastern Orthodox|Orthodox(?: Christian)?
|Protestant(?:ism)?|Lutheran(?:ism)?|Anglican(?:ism)?|Church of England|Methodis[mt]|Baptist|Presbyterian
|Quaker|Mormon|Latter-day Saints?|Christian(?:ity)?|Judaism|Jewish|Sunni Islam|Shia Islam|Islam|Muslim
|Hindu(?:ism)?|Buddhis[mt]|Sikh(?:ism)?|Jain(?:ism)?|Taois[mt]|Shinto|Zoroastrian(?:ism)?
|Bahá'í(?: Faith)?|atheis[mt]|agnostic"""

_COLOURS = """white|black|red|green|blue|yellow|orange|purple|violet|pink|brown|gr[ae]y|silver|gold|golden
|scarlet|crimson|maroon|navy|turquoise|teal|beige|ivory|cream|lilac|indigo|magenta|cyan|bronze"""

_GENRES = """science fiction|historical fiction|crime fiction|historical drama|romantic comedy
|romantic drama|film noir|action thriller|psychological thriller|thriller|horror|comedy-drama|black comedy
|comedy|drama|melodrama|western|musical|documentary|fantasy|mystery|romance|biographical|adventure
|war film|crime film|action film|animated|satire|alternative rock|indie rock|progressive rock|punk rock
|hard rock|folk rock|pop rock|psychedelic rock|heavy metal|death metal|black metal|thrash metal
|rock and roll|rock|punk|indie pop|synth-pop|synthpop|dance-pop|K-pop|J-pop|pop|hip hop|hip-hop|rap|R&B
|rhythm and blues|soul|funk|disco|house|techno|trance|electronic|ambient|jazz|blues|country|bluegrass|folk
|reggae|ska|gospel|classical|opera|first-person shooter|role-playing|platform game|platformer|puzzle
|strategy|simulation|racing|shooter|sitcom|soap opera|reality|telenovela|anime|manga|tragedy|epic
|autobiography|memoir"""


def _one_of(names: str) -> str:
    return rf"\b(?:{names.replace(chr(10), '')})"


COUNTRY = re.compile(_one_of(_COUNTRIES) + r"\b")
SPORT = re.compile(_one_of(_SPORTS))  # also in footballer and cricketer
RELIGION = re.compile(_one_of(_RELIGIONS) + r"\b")
COLOUR = re.compile(r"\b(?:(?:dark|deep|light|pale|bright) |\w+-)?" + _one_of(_COLOURS) + r"\b", re.IGNORECASE)
_KIND_OF_WORK = _one_of(_GENRES) + r"\b"
GENRE = re.compile(rf"{_KIND_OF_WORK}(?:[ ,/-]+{_KIND_OF_WORK})*", re.IGNORECASE)
