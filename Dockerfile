# The adapter from this checkout: docker build -t tsdbridge .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /tsdbridge .

FROM alpine:3.22
RUN adduser -D -H -u 9201 tsdbridge && mkdir /data && chown tsdbridge /data
COPY --from=build /tsdbridge /usr/local/bin/tsdbridge
USER tsdbridge
VOLUME /data
EXPOSE 9201 2003 2003/udp
HEALTHCHECK --interval=10s --timeout=6s CMD wget -q -O /dev/null http://127.0.0.1:9201/-/ready
ENTRYPOINT ["tsdbridge"]
CMD ["serve", "--storage.path=/data"]
