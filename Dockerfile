# A static binary, alone, run by nobody.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -tags=grpcnotrace -trimpath -ldflags='-s -w' -o /runnel ./cmd/runnel

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /runnel /runnel
USER 65532:65532
EXPOSE 7443
ENTRYPOINT ["/runnel"]
CMD ["serve"]
