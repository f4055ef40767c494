import type { Log } from '../../base/log.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { NriSettings } from '../settings/runtime-settings.ts';
import { fullName, type PluginName, parsePluginName } from './plugin-name.ts';
import type { KnownPlugin } from './register-plugin.ts';

export interface PluginProgram extends KnownPlugin {
  readonly program: string;
}

/** The programs in the plugins' folder, in the order of their names, with their configuration. */
export async function findPluginPrograms(
  fs: FileSystem,
  { pluginDir, pluginConfigDir }: NriSettings,
  log: Log,
): Promise<readonly PluginProgram[]> {
  const names = (await unlessMissing(fs.readDirectory(pluginDir)))?.map(({ name }) => name) ?? [];
  const found: PluginProgram[] = [];
  for (const name of names) {
    const program = `${pluginDir}/${name}`;
    const stat = await fs.stat(program);
    if (stat?.kind !== 'file' || (stat.mode & 0o111) === 0) continue;
    try {
      const id = parsePluginName(name);
      found.push({ id, program, config: await readConfig(fs, pluginConfigDir, id) });
    } catch (error) {
      log.warn('left NRI plugin out', { program, error });
    }
  }
  return found;
}

/** Of this very plugin, or of all with its name. */
async function readConfig(fs: FileSystem, folder: string, id: PluginName): Promise<string> {
  const own = await unlessMissing(fs.readText(`${folder}/${fullName(id)}.conf`));
  return own ?? (await unlessMissing(fs.readText(`${folder}/${id.base}.conf`))) ?? '';
}

async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
