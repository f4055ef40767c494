import { CNI_VERSIONS, type CniVersion, isCniVersion, newestVersion } from './cni-version.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** One network: a chain of plugins. Stored as JSON and read again by `parseNetworkList`. */
export interface NetworkConfig {
  readonly name: string;
  readonly cniVersion: CniVersion;
  readonly disableCheck: boolean;
  readonly disableGC: boolean;
  readonly plugins: readonly PluginConfig[];
}

/** The plugin's configuration as in the file; most of it is for the plugin alone. */
export interface PluginConfig extends JsonObject {
  readonly type: string;
}

/** A list that may get more plugins from the directory named after its network (CNI 1.1). */
export interface ParsedList {
  readonly network: NetworkConfig;
  readonly isComplete: boolean;
}

/** An invalid configuration; the message begins with the field. */
export class NetworkConfigError extends Error {
  override readonly name = 'NetworkConfigError';
}

/** CNI's rule for network names and container IDs: both become parts of paths in plugins. */
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

/** Parses a `.conflist`. */
export function parseNetworkList(value: unknown): ParsedList {
  const list = requireObject('the configuration', value);
  const isComplete = parseFlag(list, 'loadOnlyInlinedPlugins');
  if (list.plugins === undefined && isComplete) {
    throw new NetworkConfigError('plugins: required when loadOnlyInlinedPlugins is true');
  }
  return {
    isComplete,
    network: {
      name: parseName(list),
      cniVersion: parseVersion(list),
      disableCheck: parseFlag(list, 'disableCheck'),
      disableGC: parseFlag(list, 'disableGC'),
      plugins: list.plugins === undefined ? [] : parsePlugins(list.plugins),
    },
  };
}

/** Parses a `.conf` or `.json`: one plugin that is a network by itself. */
export function parseSinglePlugin(value: unknown): NetworkConfig {
  const plugin = parsePlugin('', value);
  const { cniVersion: _, name: __, ...rest } = plugin;
  return {
    name: parseName(plugin),
    cniVersion: parseVersion(plugin),
    disableCheck: false,
    disableGC: false,
    plugins: [{ ...rest, type: plugin.type }],
  };
}

/** `path` is the position of the plugin: `plugins[1]`, or empty for a whole file. */
export function parsePlugin(path: string, value: unknown): PluginConfig {
  const plugin = requireObject(path === '' ? 'the configuration' : path, value);
  const field = path === '' ? 'type' : `${path}.type`;
  const { type, capabilities } = plugin;
  if (typeof type !== 'string' || type === '') throw new NetworkConfigError(`${field}: must name a plugin`);
  if (type.includes('/')) throw new NetworkConfigError(`${field}: must be a name, not a path: ${JSON.stringify(type)}`);
  if (capabilities !== undefined) requireObject(path === '' ? 'capabilities' : `${path}.capabilities`, capabilities);
  return { ...plugin, type };
}

export function hasCapability(plugin: PluginConfig, capability: string): boolean {
  return isJsonObject(plugin.capabilities) && plugin.capabilities[capability] === true;
}

function parsePlugins(value: unknown): PluginConfig[] {
  if (!Array.isArray(value)) throw new NetworkConfigError('plugins: must be a list');
  if (value.length === 0) throw new NetworkConfigError('plugins: must have at least one plugin');
  return value.map((plugin: unknown, index) => parsePlugin(`plugins[${index}]`, plugin));
}

function parseName({ name }: JsonObject): string {
  if (typeof name !== 'string' || name === '') throw new NetworkConfigError('name: must name the network');
  if (!NAME.test(name)) {
    throw new NetworkConfigError(`name: must be letters, digits, ".", "_" and "-": ${JSON.stringify(name)}`);
  }
  return name;
}

/** Returns the newest version that both sides support; a file without any is of the first version. */
function parseVersion({ cniVersion = '', cniVersions = [] }: JsonObject): CniVersion {
  if (typeof cniVersion !== 'string') throw new NetworkConfigError('cniVersion: must be a string');
  if (!Array.isArray(cniVersions) || !cniVersions.every((version) => typeof version === 'string')) {
    throw new NetworkConfigError('cniVersions: must be a list of strings');
  }
  const offered: string[] = [...cniVersions, ...(cniVersion === '' ? [] : [cniVersion])];
  if (offered.length === 0) return '0.1.0';
  const version = newestVersion(offered.filter(isCniVersion));
  if (version) return version;
  const field = cniVersion === '' ? 'cniVersions' : 'cniVersion';
  throw new NetworkConfigError(
    `${field}: ${offered.join(', ')} is not supported (supported: ${CNI_VERSIONS.join(', ')})`,
  );
}

function parseFlag(list: JsonObject, field: string): boolean {
  const value = list[field];
  const text = typeof value === 'string' ? value.toLowerCase() : value;
  if (text === undefined || text === false || text === 'false') return false;
  if (text === true || text === 'true') return true;
  throw new NetworkConfigError(`${field}: must be true or false, got ${JSON.stringify(value)}`);
}

function requireObject(path: string, value: unknown): JsonObject {
  if (!isJsonObject(value)) throw new NetworkConfigError(`${path}: must be an object`);
  return value;
}
