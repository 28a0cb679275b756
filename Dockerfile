# The adapter from this checkout, without a shell, not as root:
#   docker build -t tsdbridge --build-arg REVISION=$(git rev-parse HEAD) .
#   docker buildx build --platform linux/amd64,linux/arm64 -t tsdbridge .
#   docker run --read-only -p 9201:9201 -v tsdbridge:/data tsdbridge
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
ARG REVISION
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# fmahash=qn: on arm64 the compiler joins no multiplication and addition into one; answers have the same bits as on amd64.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -gcflags=all=-d=fmahash=qn \
      -ldflags "-s -w -X github.com/tsdbridge/tsdbridge/adapter.stamped=$REVISION" -o /tsdbridge . \
    && mkdir /data

FROM gcr.io/distroless/static-debian12:nonroot
ARG REVISION
LABEL org.opencontainers.image.source="https://github.com/tsdbridge/tsdbridge" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build --chown=9201:9201 /data /data
COPY --from=build /tsdbridge /usr/local/bin/tsdbridge
USER 9201:9201
VOLUME /data
EXPOSE 9201 2003 2003/udp
# It asks at TSDBRIDGE_WEB_LISTEN_ADDRESS, as the adapter listens there, or at port 9201.
HEALTHCHECK --interval=10s --timeout=6s CMD ["tsdbridge", "health"]
ENTRYPOINT ["tsdbridge"]
CMD ["serve", "--storage.path=/data"]
