import { errorText } from '../../base/error-text.ts';
import { runAllOrAbort } from '../../base/run-all-or-abort.ts';
import type { PodAddresses } from '../network/pod-network.ts';
import type { OciRuntime } from '../oci/oci-runtime.ts';
import { makePrivateDirectory } from '../settings/private-directory.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { startPause } from './pause.ts';
import { type SandboxPlan, sandboxFiles } from './plan-sandbox.ts';
import type { SandboxDeps } from './sandbox-deps.ts';
import { networkedPod } from './teardown-sandbox.ts';
import { writeSandboxFiles } from './write-sandbox-files.ts';

type BuildDeps = Pick<SandboxDeps, 'fs' | 'mounts' | 'namespaces' | 'network' | 'paths' | 'preparePause'>;

/**
 * Creates all resources of a sandbox, concurrently where possible. The record is on disk. When this rejects, no work is
 * left running, and the caller undoes everything.
 */
export async function buildSandbox(
  record: SandboxRecord,
  plan: SandboxPlan,
  runtime: OciRuntime,
  deps: BuildDeps,
  signal: AbortSignal,
): Promise<SandboxRecord> {
  const { fs, paths } = deps;
  const folder = paths.sandbox(record.id);
  const idMap = plan.namespaces.user?.idMap;
  for (const each of [folder, paths.sandboxFiles(record.id)]) await makePrivateDirectory(each, idMap, fs);
  await fs.makeDirectory(`${folder}/ns`, 0o711);
  const [, created] = await runAllOrAbort(
    [
      (branchSignal) =>
        writeSandboxFiles(sandboxFiles(record, paths), record.config, plan.namespaces, deps, branchSignal),
      (branchSignal) => createNamespaces(record, plan, runtime, deps, branchSignal),
    ],
    signal,
  );
  const { addresses, pausePid } = created;
  return {
    ...record,
    ips: addresses?.ips ?? [],
    networkResults: addresses?.results ?? {},
    ...(pausePid === undefined ? {} : { pausePid }),
  };
}

interface NetworkAndPause {
  readonly addresses: PodAddresses | undefined;
  readonly pausePid: number | undefined;
}

async function createNamespaces(
  record: SandboxRecord,
  { namespaces, pause, sysctls }: SandboxPlan,
  runtime: OciRuntime,
  deps: BuildDeps,
  signal: AbortSignal,
): Promise<NetworkAndPause> {
  const attachNetwork = (limit: AbortSignal) => setUpNetwork(record, deps, limit);
  const startPauseIn = (limit: AbortSignal) => startPauseProcess(record, runtime, deps, limit);
  if (pause === 'creates') {
    // The network namespace must belong to the pod's user namespace, which the pause process creates.
    const pausePid = await startPauseIn(signal);
    return { pausePid, addresses: await attachNetwork(signal) };
  }
  const { network, ipc, uts } = namespaces;
  if (network !== undefined || ipc !== undefined) {
    const files = { ...(network && { network }), ...(ipc && { ipc }), ...(uts && { uts }) };
    const { hostname } = record.config;
    await deps.namespaces.create({ files, sysctls, ...(hostname === '' ? {} : { hostname }) });
  }
  signal.throwIfAborted();
  const [addresses, pausePid] = await runAllOrAbort(
    [attachNetwork, async (limit) => (pause === 'joins' ? startPauseIn(limit) : undefined)],
    signal,
  );
  return { addresses, pausePid };
}

async function setUpNetwork(
  record: SandboxRecord,
  { network }: BuildDeps,
  signal: AbortSignal,
): Promise<PodAddresses | undefined> {
  if (record.namespaces.network === undefined) return undefined;
  try {
    return await network.setUp(networkedPod(record), signal);
  } catch (error) {
    const text = `failed to setup network for sandbox ${JSON.stringify(record.id)}: ${errorText(error)}`;
    throw new Error(text, { cause: error });
  }
}

async function startPauseProcess(
  record: SandboxRecord,
  runtime: OciRuntime,
  deps: BuildDeps,
  signal: AbortSignal,
): Promise<number> {
  try {
    return await startPause(record, runtime, deps, signal);
  } catch (error) {
    throw new Error(`failed to start sandbox ${JSON.stringify(record.id)}: ${errorText(error)}`, { cause: error });
  }
}
