# Serve a folder of documents. The container needs no network of its own beyond its port.
#
#   docker build -t rqa .
#   docker run --rm --read-only -v rqa:/var/lib/rqa -p 8765:8765 -v "$PWD/handbook:/docs:ro" -e RQA_KEY_SERVE=... rqa
#
# RQA_KEY_SERVE is the token that requests need: any long random text, for example from `openssl rand -hex 16`.
FROM python:3.13-slim AS build
COPY . /src
RUN python -m venv /rqa && /rqa/bin/pip install -q --no-cache-dir '/src[serve]' && /rqa/bin/pip uninstall -q -y pip

FROM python:3.13-slim
COPY --from=build /rqa /rqa
RUN useradd --create-home --home-dir /var/lib/rqa rqa
USER rqa
WORKDIR /var/lib/rqa
ENV RQA_CONFIG_DIR=/var/lib/rqa/config RQA_DATA_DIR=/var/lib/rqa/data RQA_CACHE_DIR=/var/lib/rqa/cache
VOLUME /var/lib/rqa
EXPOSE 8765
HEALTHCHECK CMD ["/rqa/bin/python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/health', timeout=5)"]
ENTRYPOINT ["/rqa/bin/rqa", "serve", "--host", "0.0.0.0", "--token", "serve"]
CMD ["--docs", "/docs"]
