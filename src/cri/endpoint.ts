/** The path of the socket behind `unix:///path`, or `/path` as older configurations have it. Throws for all else. */
export function parseEndpoint(endpoint: string): string {
  const path = endpoint.startsWith('unix://') ? endpoint.slice('unix://'.length) : endpoint;
  if (path.startsWith('/') && path.length > 1) return path;
  throw new Error(
    `cannot use runtime endpoint ${JSON.stringify(endpoint)}: only support unix socket endpoint, such as unix:///run/containerd/containerd.sock`,
  );
}
