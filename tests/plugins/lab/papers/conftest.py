from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("rqa_lab") else ["*"]  # pip install -e plugins/lab/papers
