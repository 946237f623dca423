# docker build -t oomdoc . && docker run -i --rm oomdoc < crash.log
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /oomdoc ./cmd/oomdoc

FROM scratch
COPY --from=build /oomdoc /oomdoc
USER 65534:65534
ENTRYPOINT ["/oomdoc"]
