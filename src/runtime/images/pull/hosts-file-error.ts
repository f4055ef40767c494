/** A `hosts.toml`, or a file that it names, that says something else than it may. The message names the file and the place in it. */
export class HostsFileError extends Error {
  override readonly name = 'HostsFileError';
}
