# syntax=docker/dockerfile:1

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X parley/cmd/program.version=${VERSION}" -o /out/parley ./cmd/parley \
 && mkdir -p /out/data

FROM scratch
# Certificates, to reach the platforms and the models.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/parley /parley
# The store file holds everything: it stands on a volume that only this user can read.
COPY --from=build --chown=65532:65532 --chmod=0700 /out/data /data
USER 65532:65532
ENV XDG_STATE_HOME=/data
VOLUME /data
WORKDIR /data
EXPOSE 8484
STOPSIGNAL SIGTERM
ENTRYPOINT ["/parley"]
CMD ["serve", "--config", "/data/config.json"]
