import { agentDir, claimVolumesDir } from '../../app/local-folders.ts';
import { assertNever } from '../../base/assert-never.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ClaimRecord } from '../../kubelet/claims/claim-record.ts';
import { type ClaimName, ClaimStore, ClaimStoreError } from '../../kubelet/claims/claim-store.ts';
import { CommandError, EXIT } from '../options/command-error.ts';
import type { VolumeOptions } from '../options/volume-options.ts';
import { type ShownVolume, volumeDetails, volumeList } from '../output/volume-list.ts';
import type { CommandContext } from './command-context.ts';
import { requireRootOnLinux } from './require-root.ts';
import { untilInterrupted } from './until-interrupted.ts';

/** `nodelet volume`: works on the records of the volumes, which a running agent uses too. */
export async function volumeCommand(options: VolumeOptions, context: CommandContext): Promise<number> {
  requireRootOnLinux(context);
  const { rootDir } = options;
  const { fs, lockFiles, random } = context.host;
  const store = new ClaimStore({
    fs,
    lockFiles,
    random,
    folder: claimVolumesDir(rootDir),
    rootDir: agentDir(rootDir),
  });
  return untilInterrupted(context, 'interrupted', (signal) => runVerb(options, store, context, signal));
}

async function runVerb(
  options: VolumeOptions,
  store: ClaimStore,
  { host, terminal }: CommandContext,
  signal: AbortSignal,
): Promise<number> {
  const nowMs = host.clock.now();
  switch (options.verb) {
    case 'ls': {
      const { namespace } = options;
      const records = (await store.list()).filter((each) => namespace === undefined || each.namespace === namespace);
      const volumes: ShownVolume[] = [];
      for (const record of records) volumes.push(await shownVolume(record, host.fs, signal));
      await terminal.stdout.write(volumeList(volumes, options.output, nowMs));
      if (volumes.length === 0 && options.output === 'text') await terminal.stderr.write('No volumes found.\n');
      return EXIT.ok;
    }
    case 'inspect': {
      const asked = volumeArgument(options.volume, options.namespace);
      const record = (await store.list()).find(
        ({ namespace, name }) => namespace === asked.namespace && name === asked.name,
      );
      if (!record) throw new CommandError(`volume "${asked.namespace}/${asked.name}" not found`);
      const volume = await shownVolume(record, host.fs, signal);
      await terminal.stdout.write(volumeDetails(volume, options.output, nowMs));
      return EXIT.ok;
    }
    case 'rm': {
      const asked = options.volumes.map((each) => volumeArgument(each, options.namespace));
      return removeAll(asked, store, terminal, signal);
    }
    default:
      return assertNever(options);
  }
}

/** An error of one volume does not stop the others. */
async function removeAll(
  volumes: readonly ClaimName[],
  store: ClaimStore,
  terminal: CommandContext['terminal'],
  signal: AbortSignal,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  for (const volume of volumes) {
    try {
      await terminal.stdout.write(`${removedText(await store.remove(volume, signal))}\n`);
    } catch (error) {
      if (!(error instanceof ClaimStoreError) || volumes.length === 1) throw error;
      await terminal.stderr.write(`nodelet volume: ${error.message}\n`);
      exitCode = EXIT.failed;
    }
  }
  return exitCode;
}

function removedText({ namespace, name, volume }: ClaimRecord): string {
  const claim = `${namespace}/${name}`;
  return volume.kind === 'provisioned'
    ? `${claim} removed`
    : `${claim} released; the files of PersistentVolume ${volume.name} stay`;
}

async function shownVolume(record: ClaimRecord, fs: FileSystem, signal: AbortSignal): Promise<ShownVolume> {
  const { namespace, name, uid, created, spec, volume, path, owner, usedBy } = record;
  const isOurs = volume.kind === 'provisioned';
  const isMeasured = isOurs && path !== undefined && (await fs.stat(path)) !== undefined;
  return {
    namespace,
    name,
    uid,
    created,
    requested: parseQuantity(spec.resources?.requests?.['storage'] ?? 0).toString(),
    accessModes: spec.accessModes ?? [],
    ...(!isOurs && { persistentVolume: volume.name }),
    ...(path !== undefined && { path }),
    ...(isMeasured && {
      used: await fs.treeUsage(path, signal),
      availableBytes: (await fs.usage(path)).availableBytes,
    }),
    usedBy: usedBy.map((pod) => pod.name),
    ...(owner && { ephemeralOf: owner.name }),
  };
}

/** `NAME`, which is in `namespace`, or `NAMESPACE/NAME`. */
function volumeArgument(text: string, namespace = 'default'): ClaimName {
  const [first = '', second, ...more] = text.split('/');
  const name = second ?? first;
  if (first === '' || name === '' || more.length > 0) {
    throw new CommandError(`"${text}" is not the name of a volume: use NAME or NAMESPACE/NAME`, EXIT.badInput);
  }
  return { namespace: second === undefined ? namespace : first, name };
}
