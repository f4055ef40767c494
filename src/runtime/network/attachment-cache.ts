import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { AttachedPod, Attachment } from './attachment.ts';
import { isJsonObject, type JsonObject, parseJsonObject } from './json-object.ts';
import { parseNetworkList } from './network-config.ts';

/** The cached network attachments of one sandbox. */
export interface CachedPod {
  readonly pod: AttachedPod;
  readonly attachments: readonly Attachment[];
}

/** One file for each sandbox, from before its first ADD until after its last DEL. */
export interface AttachmentCache {
  /** `damaged`: the file is incomplete because power was lost while it was written. */
  read(sandboxId: string): Promise<CachedPod | 'damaged' | undefined>;
  write(cached: CachedPod): Promise<void>;
  remove(sandboxId: string): Promise<void>;
  sandboxIds(): Promise<readonly string[]>;
  /** Removes temporary files of interrupted writes of previous processes. Writes of this process may be in progress. */
  sweep(isOwnSandbox: (sandboxId: string) => boolean): Promise<void>;
}

/** An interrupted write leaves a file whose name begins with a dot. */
const INTERRUPTED_WRITE = /^\.(.+)\.json\b/;

export function openAttachmentCache(fs: FileSystem, folder: string): AttachmentCache {
  const pathOf = (sandboxId: string): string => `${folder}/${sandboxId}.json`;
  const names = async (): Promise<readonly string[]> =>
    ((await ignoreMissing(fs.readDirectory(folder))) ?? []).map(({ name }) => name);
  let made: Promise<void> | undefined;
  return {
    async read(sandboxId) {
      const text = await ignoreMissing(fs.readText(pathOf(sandboxId)));
      return text === undefined ? undefined : (parseCached(text, sandboxId) ?? 'damaged');
    },
    async write(cached) {
      made ??= fs.makeDirectory(folder, 0o700).catch((error: unknown) => {
        made = undefined;
        throw error;
      });
      await made;
      await fs.writeReplacing(pathOf(cached.pod.sandboxId), JSON.stringify(cached), { mode: 0o600 });
    },
    remove: (sandboxId) => fs.remove(pathOf(sandboxId)),
    async sandboxIds() {
      const cached = (await names()).filter((name) => /^[^.].*\.json$/.test(name));
      return cached.map((name) => name.slice(0, -'.json'.length));
    },
    async sweep(isOwnSandbox) {
      for (const name of await names()) {
        const sandboxId = INTERRUPTED_WRITE.exec(name)?.[1];
        if (sandboxId !== undefined && !isOwnSandbox(sandboxId)) await fs.remove(`${folder}/${name}`);
      }
    },
  };
}

function parseCached(text: string, sandboxId: string): CachedPod | undefined {
  const cached = parseJsonObject(text);
  if (!cached || !isJsonObject(cached.pod) || !Array.isArray(cached.attachments)) return undefined;
  const { namespacePath, args, capabilityArgs } = cached.pod;
  if (typeof namespacePath !== 'string' || typeof args !== 'string' || !isJsonObject(capabilityArgs)) return undefined;
  try {
    const attachments = cached.attachments.filter(isJsonObject).map(parseAttachment);
    return { pod: { sandboxId, namespacePath, args, capabilityArgs }, attachments };
  } catch {
    return undefined;
  }
}

function parseAttachment({ network, interfaceName, result }: JsonObject): Attachment {
  if (typeof interfaceName !== 'string') throw new Error('interfaceName: must be a string');
  return {
    network: parseNetworkList(network).network,
    interfaceName,
    result: isJsonObject(result) ? result : undefined,
  };
}

async function ignoreMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
