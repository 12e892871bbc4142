# One image for both services: `docker build -t gangline:0.1.0 .`, then run it with `scheduler` or `controller`.
ARG PYTHON_IMAGE=python:3.13.9-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /build
RUN python -m venv /opt/gangline
ENV PATH=/opt/gangline/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/runtime.txt requirements/
RUN pip install --require-hashes --only-binary :all: -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY gangline gangline
COPY scheduler scheduler
COPY controller controller
RUN pip install --no-build-isolation --no-deps .

# The same image again: a virtual environment knows its interpreter by path.
FROM ${PYTHON_IMAGE}
COPY --from=build /opt/gangline /opt/gangline
ENV PATH=/opt/gangline/bin:$PATH PYTHONUNBUFFERED=1 PYTHONFAULTHANDLER=1 PYTHONDONTWRITEBYTECODE=1
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /
ENTRYPOINT ["python", "-m"]
CMD ["scheduler"]
