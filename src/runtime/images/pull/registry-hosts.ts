import { createPrivateKey, X509Certificate } from 'node:crypto';
import { textOf } from '../../../base/text-of.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { TlsSettings } from '../../../host/network.ts';
import type { HostEntry } from './hosts-file.ts';
import { HostsFileError } from './hosts-file-error.ts';
import { ALL_CAPABILITIES, defaultPlace, type RegistryHost, speech } from './registry-host.ts';

type ConfigFiles = Pick<FileSystem, 'stat' | 'readText' | 'readDirectory'>;

/**
 * Where images of a registry may be, in the order in which they are asked; the registry itself is the last. Looked up for
 * each pull, so that a change counts at once. Rejects with a `HostsFileError`.
 */
export async function registryHosts(
  fs: ConfigFiles,
  configDirs: readonly string[],
  registry: string,
): Promise<readonly RegistryHost[]> {
  const folder = await hostFolder(fs, configDirs, registry);
  const entries = folder === undefined ? [PLAIN] : await hostEntries(fs, folder);
  return Promise.all(entries.map((entry) => loadedHost(fs, entry, registry)));
}

const PLAIN: HostEntry = { place: undefined, capabilities: ALL_CAPABILITIES, headers: [] };

/** The first that there is, whatever is in it. */
async function hostFolder(
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

async function hostEntries(fs: ConfigFiles, folder: string): Promise<readonly HostEntry[]> {
  const file = `${folder}/hosts.toml`;
  const text = (await fs.stat(file)) === undefined ? '' : await readable(fs, file);
  if (text === '') return [await certificatesOnly(fs, folder)];
  const { parseHostsFile } = await import('./hosts-file.ts'); // most machines have none, and it needs a package
  return parseHostsFile(text, file);
}

/** Docker's way: `*.crt` are authorities, `*.cert` and `*.key` who we are. */
async function certificatesOnly(fs: ConfigFiles, folder: string): Promise<HostEntry> {
  const members = await fs.readDirectory(folder);
  const names = members.filter(({ kind }) => kind !== 'directory').map(({ name }) => name);
  const authorityFiles = names.filter((name) => name.endsWith('.crt')).map((name) => `${folder}/${name}`);
  const clientFiles = names.flatMap((name) => {
    if (!name.endsWith('.cert')) return [];
    const key = `${name.slice(0, -'.cert'.length)}.key`;
    return [{ certificate: `${folder}/${name}`, key: names.includes(key) ? `${folder}/${key}` : undefined }];
  });
  return {
    ...PLAIN,
    ...(authorityFiles.length > 0 && { authorityFiles }),
    ...(clientFiles.length > 0 && { clientFiles }),
  };
}

async function loadedHost(fs: ConfigFiles, entry: HostEntry, registry: string): Promise<RegistryHost> {
  const { authorityFiles, clientFiles, capabilities, headers, dialTimeoutMs } = entry;
  const usual = defaultPlace(registry);
  const place = entry.place ?? { ...usual, path: '/v2' };
  const skipVerify = (entry.place ? undefined : usual.skipVerify) ?? entry.skipVerify;
  const tls = authorityFiles || clientFiles ? await loadedTls(fs, entry) : undefined;
  return {
    ...speech(place, tls !== undefined || skipVerify !== undefined),
    authority: place.authority,
    path: place.path,
    capabilities,
    tls,
    skipVerify: skipVerify ?? false,
    headers,
    dialTimeoutMs,
  };
}

async function loadedTls(fs: ConfigFiles, { authorityFiles, clientFiles }: HostEntry): Promise<TlsSettings> {
  const clientCertificates = clientFiles?.map(async ({ certificate: file, key }) => {
    const certificate = await pemOf(fs, file, 'certificate');
    return { certificate, key: await pemOf(fs, key ?? file, 'private key') };
  });
  return {
    ...(authorityFiles && {
      authorities: await Promise.all(authorityFiles.map((file) => pemOf(fs, file, 'certificate'))),
    }),
    ...(clientCertificates && { clientCertificates: await Promise.all(clientCertificates) }),
  };
}

/** As it is in the file, once it is sure that it is one: TLS would pass over an authority that is none. */
async function pemOf(fs: ConfigFiles, file: string, what: 'certificate' | 'private key'): Promise<string> {
  const text = await readable(fs, file);
  try {
    if (what === 'certificate') new X509Certificate(text);
    else createPrivateKey(text);
    return text;
  } catch (error) {
    throw new HostsFileError(`${file}: has no ${what} in PEM: ${textOf(error)}`, { cause: error });
  }
}

async function readable(fs: ConfigFiles, file: string): Promise<string> {
  try {
    return await fs.readText(file);
  } catch (error) {
    throw new HostsFileError(`${file}: ${textOf(error)}`, { cause: error });
  }
}
