import type { Log } from '../../base/log.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { NriSettings } from '../settings/runtime-settings.ts';
import { fullName, type PluginName, parsePluginName } from './plugin-name.ts';
import type { StartedPlugin } from './register-plugin.ts';

export interface PluginProgram extends StartedPlugin {
  readonly program: string;
}

/** Returns the programs in the plugin directory, in the order of their names, with their configuration. */
export async function findPluginPrograms(
  fs: FileSystem,
  { pluginDir, pluginConfigDir }: NriSettings,
  log: Log,
): Promise<readonly PluginProgram[]> {
  const names = (await ignoreMissing(fs.readDirectory(pluginDir)))?.map(({ name }) => name) ?? [];
  const found: PluginProgram[] = [];
  for (const name of names) {
    const program = `${pluginDir}/${name}`;
    const stat = await fs.stat(program);
    if (stat?.kind !== 'file' || (stat.mode & 0o111) === 0) continue;
    try {
      const id = parsePluginName(name);
      found.push({ id, program, config: await readConfig(fs, pluginConfigDir, id) });
    } catch (error) {
      log.warn('ignored NRI plugin', { program, error });
    }
  }
  return found;
}

/** Reads the configuration of this plugin, else of all plugins with its name. */
async function readConfig(fs: FileSystem, folder: string, id: PluginName): Promise<string> {
  const own = await ignoreMissing(fs.readText(`${folder}/${fullName(id)}.conf`));
  return own ?? (await ignoreMissing(fs.readText(`${folder}/${id.base}.conf`))) ?? '';
}

async function ignoreMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
