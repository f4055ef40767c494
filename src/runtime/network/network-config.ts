import { CNI_VERSIONS, type CniVersion, isCniVersion, newestOf } from './cni-version.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** One network: a chain of plugins. Plain JSON, so that it is kept as it is and read again by `parseNetworkList`. */
export interface NetworkConfig {
  readonly name: string;
  readonly cniVersion: CniVersion;
  readonly disableCheck: boolean;
  readonly disableGC: boolean;
  readonly plugins: readonly PluginConfig[];
}

/** As it stands in the file: most of it is for the plugin alone. */
export interface PluginConfig extends JsonObject {
  readonly type: string;
}

/** A list that may get more plugins from the folder named after its network (CNI 1.1). */
export interface ParsedList {
  readonly network: NetworkConfig;
  readonly isComplete: boolean;
}

/** What is wrong with a configuration; the message begins with the field. */
export class NetworkConfigError extends Error {
  override readonly name = 'NetworkConfigError';
}

/** CNI's rule for names of networks and for container ids: both end up in paths of plugins. */
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

/** A `.conflist`. */
export function parseNetworkList(value: unknown): ParsedList {
  const list = objectAt('the configuration', value);
  const isComplete = flag(list, 'loadOnlyInlinedPlugins');
  if (list.plugins === undefined && isComplete) {
    throw new NetworkConfigError('plugins: must be there when loadOnlyInlinedPlugins is true');
  }
  return {
    isComplete,
    network: {
      name: networkName(list),
      cniVersion: versionOf(list),
      disableCheck: flag(list, 'disableCheck'),
      disableGC: flag(list, 'disableGC'),
      plugins: list.plugins === undefined ? [] : inlinedPlugins(list.plugins),
    },
  };
}

/** A `.conf` or `.json`: one plugin that is a network by itself. */
export function parseSinglePlugin(value: unknown): NetworkConfig {
  const plugin = parsePlugin('', value);
  const { cniVersion: _, name: __, ...rest } = plugin;
  return {
    name: networkName(plugin),
    cniVersion: versionOf(plugin),
    disableCheck: false,
    disableGC: false,
    plugins: [{ ...rest, type: plugin.type }],
  };
}

/** `path` is where it stands: `plugins[1]`, or nothing for a whole file. */
export function parsePlugin(path: string, value: unknown): PluginConfig {
  const plugin = objectAt(path === '' ? 'the configuration' : path, value);
  const field = path === '' ? 'type' : `${path}.type`;
  const { type, capabilities } = plugin;
  if (typeof type !== 'string' || type === '') throw new NetworkConfigError(`${field}: must name a plugin`);
  if (type.includes('/')) throw new NetworkConfigError(`${field}: must be a name, not a path: ${JSON.stringify(type)}`);
  if (capabilities !== undefined) objectAt(path === '' ? 'capabilities' : `${path}.capabilities`, capabilities);
  return { ...plugin, type };
}

export function declares(plugin: PluginConfig, capability: string): boolean {
  return isJsonObject(plugin.capabilities) && plugin.capabilities[capability] === true;
}

function inlinedPlugins(value: unknown): PluginConfig[] {
  if (!Array.isArray(value)) throw new NetworkConfigError('plugins: must be a list');
  if (value.length === 0) throw new NetworkConfigError('plugins: must have at least one plugin');
  return value.map((plugin: unknown, index) => parsePlugin(`plugins[${index}]`, plugin));
}

function networkName({ name }: JsonObject): string {
  if (typeof name !== 'string' || name === '') throw new NetworkConfigError('name: must name the network');
  if (!NAME.test(name)) {
    throw new NetworkConfigError(`name: must be letters, digits, ".", "_" and "-": ${JSON.stringify(name)}`);
  }
  return name;
}

/** The newest that both sides know; a file without any is of the first version. */
function versionOf({ cniVersion = '', cniVersions = [] }: JsonObject): CniVersion {
  if (typeof cniVersion !== 'string') throw new NetworkConfigError('cniVersion: must be a string');
  if (!Array.isArray(cniVersions) || !cniVersions.every((version) => typeof version === 'string')) {
    throw new NetworkConfigError('cniVersions: must be a list of strings');
  }
  const offered: string[] = [...cniVersions, ...(cniVersion === '' ? [] : [cniVersion])];
  if (offered.length === 0) return '0.1.0';
  const version = newestOf(offered.filter(isCniVersion));
  if (version) return version;
  const field = cniVersion === '' ? 'cniVersions' : 'cniVersion';
  throw new NetworkConfigError(`${field}: ${offered.join(', ')} is none of ${CNI_VERSIONS.join(', ')}`);
}

function flag(list: JsonObject, field: string): boolean {
  const value = list[field];
  const text = typeof value === 'string' ? value.toLowerCase() : value;
  if (text === undefined || text === false || text === 'false') return false;
  if (text === true || text === 'true') return true;
  throw new NetworkConfigError(`${field}: must be true or false, got ${JSON.stringify(value)}`);
}

function objectAt(path: string, value: unknown): JsonObject {
  if (!isJsonObject(value)) throw new NetworkConfigError(`${path}: must be an object`);
  return value;
}
