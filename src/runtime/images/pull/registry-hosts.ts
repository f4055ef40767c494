import { createPrivateKey, X509Certificate } from 'node:crypto';
import { errorText } from '../../../base/error-text.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { TlsSettings } from '../../../host/network.ts';
import type { HostEntry } from './hosts-file.ts';
import { HostsFileError } from './hosts-file-error.ts';
import { ALL_CAPABILITIES, chooseScheme, defaultEndpoint, type RegistryHost } from './registry-host.ts';

type ConfigFiles = Pick<FileSystem, 'stat' | 'readText' | 'readDirectory'>;

/**
 * Returns the hosts for images of a registry in the order in which they are tried; the registry itself is last. Read
 * for each pull, so that changes take effect at once. Rejects with `HostsFileError`.
 */
export async function loadRegistryHosts(
  fs: ConfigFiles,
  configDirs: readonly string[],
  registry: string,
): Promise<readonly RegistryHost[]> {
  const folder = await findConfigDir(fs, configDirs, registry);
  const entries = folder === undefined ? [DEFAULT_ENTRY] : await readEntries(fs, folder);
  return Promise.all(entries.map((entry) => loadHost(fs, entry, registry)));
}

const DEFAULT_ENTRY: HostEntry = { endpoint: undefined, capabilities: ALL_CAPABILITIES, headers: [] };

/** Returns the first existing directory. */
async function findConfigDir(
  fs: ConfigFiles,
  configDirs: readonly string[],
  registry: string,
): Promise<string | undefined> {
  const names = [registry.replace(/^(.+):([^:]*)$/, '$1_$2_'), registry, '_default'];
  for (const dir of configDirs) {
    for (const name of new Set(names)) {
      const path = `${dir}/${name}`;
      if (await fs.stat(path)) return path;
    }
  }
  return undefined;
}

async function readEntries(fs: ConfigFiles, folder: string): Promise<readonly HostEntry[]> {
  const file = `${folder}/hosts.toml`;
  const text = (await fs.stat(file)) === undefined ? '' : await readConfigFile(fs, file);
  if (text === '') return [await readCertificates(fs, folder)];
  const { parseHostsFile } = await import('./hosts-file.ts'); // lazy: most machines have no such file, and the parser is a package
  return parseHostsFile(text, file);
}

/** Docker's convention: `*.crt` are certificate authorities, `*.cert` and `*.key` the client certificate. */
async function readCertificates(fs: ConfigFiles, folder: string): Promise<HostEntry> {
  const members = await fs.readDirectory(folder);
  const names = members.filter(({ kind }) => kind !== 'directory').map(({ name }) => name);
  const authorityFiles = names.filter((name) => name.endsWith('.crt')).map((name) => `${folder}/${name}`);
  const clientFiles = names.flatMap((name) => {
    if (!name.endsWith('.cert')) return [];
    const key = `${name.slice(0, -'.cert'.length)}.key`;
    return [{ certificate: `${folder}/${name}`, key: names.includes(key) ? `${folder}/${key}` : undefined }];
  });
  return {
    ...DEFAULT_ENTRY,
    ...(authorityFiles.length > 0 && { authorityFiles }),
    ...(clientFiles.length > 0 && { clientFiles }),
  };
}

async function loadHost(fs: ConfigFiles, entry: HostEntry, registry: string): Promise<RegistryHost> {
  const { authorityFiles, clientFiles, capabilities, headers, dialTimeoutMs } = entry;
  const usual = defaultEndpoint(registry);
  const endpoint = entry.endpoint ?? { ...usual, path: '/v2' };
  const skipVerify = (entry.endpoint ? undefined : usual.skipVerify) ?? entry.skipVerify;
  const tls = authorityFiles || clientFiles ? await loadTls(fs, entry) : undefined;
  return {
    ...chooseScheme(endpoint, tls !== undefined || skipVerify !== undefined),
    authority: endpoint.authority,
    path: endpoint.path,
    capabilities,
    tls,
    skipVerify: skipVerify ?? false,
    headers,
    dialTimeoutMs,
  };
}

async function loadTls(fs: ConfigFiles, { authorityFiles, clientFiles }: HostEntry): Promise<TlsSettings> {
  const clientCertificates = clientFiles?.map(async ({ certificate: file, key }) => {
    const certificate = await readPem(fs, file, 'certificate');
    return { certificate, key: await readPem(fs, key ?? file, 'private key') };
  });
  return {
    ...(authorityFiles && {
      authorities: await Promise.all(authorityFiles.map((file) => readPem(fs, file, 'certificate'))),
    }),
    ...(clientCertificates && { clientCertificates: await Promise.all(clientCertificates) }),
  };
}

/** Reads a PEM file and verifies that it can be parsed: TLS would silently ignore an invalid authority. */
async function readPem(fs: ConfigFiles, file: string, what: 'certificate' | 'private key'): Promise<string> {
  const text = await readConfigFile(fs, file);
  try {
    if (what === 'certificate') new X509Certificate(text);
    else createPrivateKey(text);
    return text;
  } catch (error) {
    throw new HostsFileError(`${file}: contains no PEM ${what}: ${errorText(error)}`, { cause: error });
  }
}

async function readConfigFile(fs: ConfigFiles, file: string): Promise<string> {
  try {
    return await fs.readText(file);
  } catch (error) {
    throw new HostsFileError(`${file}: ${errorText(error)}`, { cause: error });
  }
}
