# Builds and runs `sallyport serve` as a user without rights. Works on any host with `--isolation process`; docs/deploy.md has the
# flags for `docker run`, and what the stronger level needs.
FROM node:20-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
RUN node scripts/build.mjs && npm prune --omit=dev

FROM node:20-bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap tini util-linux \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/sallyport --create-home sallyport
WORKDIR /opt/sallyport
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
USER 10001:10001
ENV NODE_ENV=production \
    SALLYPORT_HOST=0.0.0.0 \
    SALLYPORT_PORT=7420 \
    SALLYPORT_CACHE_DIR=/var/lib/sallyport/cache
VOLUME ["/var/lib/sallyport", "/tmp"]
EXPOSE 7420
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:7420/readyz').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
# An init reaps what orphaned grandchildren leave behind.
ENTRYPOINT ["tini", "--", "node", "dist/cli/main.js"]
CMD ["serve"]
