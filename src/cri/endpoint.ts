/** Returns the socket path of `unix:///path`, or of `/path` in older configurations. Throws for other endpoints. */
export function parseEndpoint(endpoint: string): string {
  const path = endpoint.startsWith('unix://') ? endpoint.slice('unix://'.length) : endpoint;
  if (path.startsWith('/') && path.length > 1) return path;
  throw new Error(
    `cannot use runtime endpoint ${JSON.stringify(endpoint)}: only support unix socket endpoint, such as unix:///run/containerd/containerd.sock`,
  );
}
