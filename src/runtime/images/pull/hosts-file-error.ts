/** A `hosts.toml`, or a file that it names, is invalid. The message names the file and the field. */
export class HostsFileError extends Error {
  override readonly name = 'HostsFileError';
}
