import { dirname, join, resolve } from 'node:path/posix';
import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { type JsonObject, valueAt, withValueAt } from './json-value.ts';
import type { ParsedConfigFile } from './parse-config-document.ts';
import { parseConfigFile } from './parse-config-file.ts';

/** The file of `--config`; relative paths in it start at its folder. */
export async function readConfigFile(path: string, fs: FileSystem, signal: AbortSignal): Promise<ParsedConfigFile> {
  const file = resolve(path);
  const { config, diagnostics } = await readOne(file, fs, signal);
  return { config: relativeTo(dirname(file), config), diagnostics: diagnostics };
}

/** The drop-ins of `--config-dir`: `*.conf` in the folder and below it, in lexical order. */
export async function readDropIns(
  path: string,
  fs: FileSystem,
  signal: AbortSignal,
): Promise<readonly ParsedConfigFile[]> {
  const folder = resolve(path);
  const files = await attempt(dropInFiles(folder, fs), signal);
  if ('failure' in files) {
    const message = `failed to walk through kubelet dropin directory "${folder}": ${files.failure}`;
    return [{ config: {}, diagnostics: [{ severity: 'error', file: folder, message }] }];
  }
  const read: ParsedConfigFile[] = [];
  for (const file of files.value) {
    const { config, diagnostics } = await readOne(file, fs, signal);
    read.push({ config: relativeTo(resolve(), config), diagnostics: diagnostics });
  }
  return read;
}

async function dropInFiles(folder: string, fs: FileSystem): Promise<readonly string[]> {
  const files: string[] = [];
  for (const { name, kind } of await fs.readDirectory(folder)) {
    const path = join(folder, name);
    if (kind === 'directory') files.push(...(await dropInFiles(path, fs)));
    else if (name.endsWith('.conf')) files.push(path);
  }
  return files;
}

async function readOne(file: string, fs: FileSystem, signal: AbortSignal): Promise<ParsedConfigFile> {
  const text = await attempt(fs.readText(file, signal), signal);
  if ('value' in text) return parseConfigFile(text.value, file);
  const message = `failed to read kubelet config file "${file}", error: ${text.failure}`;
  return { config: {}, diagnostics: [{ severity: 'error', file, message }] };
}

/** A failure is an answer here, unless it comes from our own signal. */
async function attempt<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<{ readonly value: T } | { readonly failure: string }> {
  try {
    return { value: await work };
  } catch (error) {
    signal.throwIfAborted();
    return { failure: errorText(error) };
  }
}

/** Fields that name files. Outside the file of `--config` a relative one starts where we run. */
const PATH_FIELDS = [
  ['staticPodPath'],
  ['authentication', 'x509', 'clientCAFile'],
  ['tlsCertFile'],
  ['tlsPrivateKeyFile'],
  ['resolvConf'],
  ['volumePluginDir'],
  ['podLogsDir'],
];

/** A copy in which the paths that start at that folder are absolute; those that are stay as they are written. */
export function relativeTo(folder: string, config: JsonObject): JsonObject {
  return PATH_FIELDS.reduce((resolved, path) => {
    const value = valueAt(resolved, path);
    const isRelative = typeof value === 'string' && value !== '' && !value.startsWith('/');
    return isRelative ? withValueAt(resolved, path, join(folder, value)) : resolved;
  }, config);
}
