import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { AttachedPod, Attachment } from './attachment.ts';
import { isJsonObject, type JsonObject, parseJsonObject } from './json-object.ts';
import { parseNetworkList } from './network-config.ts';

/** What one sandbox has, or may have, on its networks. */
export interface KeptPod {
  readonly pod: AttachedPod;
  readonly attachments: readonly Attachment[];
}

/** One file for each sandbox, from before its first ADD until after its last DEL. */
export interface AttachmentCache {
  /** `damaged`: something was kept, and power was lost while it was written. */
  read(sandboxId: string): Promise<KeptPod | 'damaged' | undefined>;
  write(kept: KeptPod): Promise<void>;
  remove(sandboxId: string): Promise<void>;
  sandboxIds(): Promise<readonly string[]>;
  /** Takes away what writes of an earlier life left that were cut off. Those of this life may be under way. */
  sweep(isOfThisLife: (sandboxId: string) => boolean): Promise<void>;
}

/** A write that was cut off leaves a name that begins with a dot. */
const CUT_OFF = /^\.(.+)\.json\b/;

export function openAttachmentCache(fs: FileSystem, folder: string): AttachmentCache {
  const pathOf = (sandboxId: string): string => `${folder}/${sandboxId}.json`;
  const names = async (): Promise<readonly string[]> =>
    ((await unlessMissing(fs.readDirectory(folder))) ?? []).map(({ name }) => name);
  let made: Promise<void> | undefined;
  return {
    async read(sandboxId) {
      const text = await unlessMissing(fs.readText(pathOf(sandboxId)));
      return text === undefined ? undefined : (parseKept(text, sandboxId) ?? 'damaged');
    },
    async write(kept) {
      made ??= fs.makeDirectory(folder, 0o700).catch((error: unknown) => {
        made = undefined;
        throw error;
      });
      await made;
      await fs.writeReplacing(pathOf(kept.pod.sandboxId), JSON.stringify(kept), { mode: 0o600 });
    },
    remove: (sandboxId) => fs.remove(pathOf(sandboxId)),
    async sandboxIds() {
      const kept = (await names()).filter((name) => /^[^.].*\.json$/.test(name));
      return kept.map((name) => name.slice(0, -'.json'.length));
    },
    async sweep(isOfThisLife) {
      for (const name of await names()) {
        const sandboxId = CUT_OFF.exec(name)?.[1];
        if (sandboxId !== undefined && !isOfThisLife(sandboxId)) await fs.remove(`${folder}/${name}`);
      }
    },
  };
}

function parseKept(text: string, sandboxId: string): KeptPod | undefined {
  const kept = parseJsonObject(text);
  if (!kept || !isJsonObject(kept.pod) || !Array.isArray(kept.attachments)) return undefined;
  const { namespacePath, args, capabilityArgs } = kept.pod;
  if (typeof namespacePath !== 'string' || typeof args !== 'string' || !isJsonObject(capabilityArgs)) return undefined;
  try {
    const attachments = kept.attachments.filter(isJsonObject).map(parseAttachment);
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

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
