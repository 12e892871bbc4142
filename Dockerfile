# One image for both services: `docker build -t gangline:0.1.0 .`, then run it with `scheduler` or `controller`.
# The base is pinned by its exact tag; to pin the one that your registry has, give --build-arg PYTHON_IMAGE=NAME@sha256:DIGEST.
ARG PYTHON_IMAGE=python:3.13.14-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv --without-pip /opt/gangline
COPY requirements/runtime.txt requirements/
RUN pip --python /opt/gangline install --require-hashes --only-binary :all: --requirement requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY gangline gangline
COPY scheduler scheduler
COPY controller controller
# What has built it stays behind, and so do the tests of the libraries.
RUN pip --python /opt/gangline install --no-build-isolation --no-deps . \
 && pip --python /opt/gangline uninstall --yes hatchling packaging pathspec pluggy tomlkit trove-classifiers \
 && find /opt/gangline -type d -name tests -prune -exec rm -r {} +

# The same image again: a virtual environment knows its interpreter by path.
FROM ${PYTHON_IMAGE}
COPY --from=build /opt/gangline /opt/gangline
ENV PATH=/opt/gangline/bin:$PATH PYTHONUNBUFFERED=1 PYTHONFAULTHANDLER=1 PYTHONDONTWRITEBYTECODE=1
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /
ENTRYPOINT ["python", "-m"]
CMD ["scheduler"]
