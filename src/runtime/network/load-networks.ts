import { errorText } from '../../base/error-text.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import {
  type NetworkConfig,
  NetworkConfigError,
  type PluginConfig,
  parseNetworkList,
  parsePlugin,
  parseSinglePlugin,
} from './network-config.ts';

export interface LoadedNetworks {
  /** In the order of their files: the first is eth0. */
  readonly networks: readonly NetworkConfig[];
  /** `FILE: FIELD: message` of the files that were ignored. */
  readonly errors: readonly string[];
}

/** Returns the first `maxConfigs` (0: all) valid configurations of a directory, none if it is missing. */
export async function loadNetworks(fs: FileSystem, confDir: string, maxConfigs: number): Promise<LoadedNetworks> {
  const networks: NetworkConfig[] = [];
  const errors: string[] = [];
  try {
    for (const path of await filesIn(fs, confDir, ['.conflist', '.conf', '.json'])) {
      const loaded = await loadNetwork(fs, confDir, path);
      if (typeof loaded === 'string') errors.push(loaded);
      else if (networks.some(({ name }) => name === loaded.name)) errors.push(duplicateName(path, loaded));
      else networks.push(loaded);
      if (maxConfigs > 0 && networks.length === maxConfigs) break;
    }
  } catch (error) {
    errors.push(errorText(error));
  }
  return { networks, errors };
}

/** Errors are expected here: the file may be in the middle of being written. */
async function loadNetwork(fs: FileSystem, confDir: string, path: string): Promise<NetworkConfig | string> {
  try {
    const value = await readJson(fs, path);
    if (!path.endsWith('.conflist')) return parseSinglePlugin(value);
    const { network, isComplete } = parseNetworkList(value);
    const plugins = [...network.plugins, ...(isComplete ? [] : await pluginsBelow(fs, `${confDir}/${network.name}`))];
    if (plugins.length === 0) throw new NetworkConfigError('plugins: must have at least one plugin');
    return { ...network, plugins };
  } catch (error) {
    return `${path}: ${errorText(error)}`;
  }
}

async function pluginsBelow(fs: FileSystem, folder: string): Promise<PluginConfig[]> {
  const paths = await filesIn(fs, folder, ['.conf']);
  return Promise.all(paths.map(async (path) => parsePlugin(path, await readJson(fs, path))));
}

async function readJson(fs: FileSystem, path: string): Promise<unknown> {
  const text = await fs.readText(path);
  if (text.trim() === '') throw new NetworkConfigError('the file is empty');
  return JSON.parse(text);
}

async function filesIn(fs: FileSystem, folder: string, endings: readonly string[]): Promise<string[]> {
  try {
    return (await fs.readDirectory(folder))
      .filter(({ name, kind }) => kind !== 'directory' && endings.some((ending) => name.endsWith(ending)))
      .map(({ name }) => `${folder}/${name}`);
  } catch (error) {
    if (error instanceof FileSystemError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return [];
    throw error;
  }
}

function duplicateName(path: string, { name }: NetworkConfig): string {
  return `${path}: name: network ${JSON.stringify(name)} is already defined by another file`;
}
