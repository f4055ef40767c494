// `make critest`: runs the published critest, the validation suite of CRI, against `nodelet cri`. Its images are built
// here and pulled from a local registry, to which the hosts of the published images are redirected.
//
//   --nodelet PROGRAM   the program under test (default: this checkout)
//   --handler NAME      the OCI runtime: crun, runc (default: the runtime's default)
//   --logs FOLDER       directory for logs and reports
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { clusterToolsFolder, clusterToolsSkipReason } from '../integration/cluster-tools.ts';
import { registrySkipReason, startRegistry } from '../integration/registry-fixture.ts';
import { unmountBelow } from '../integration/runtime-cleanup.ts';
import { embeddedSkipReason, startEmbedded } from '../integration/runtime-fixture.ts';
import { CRITEST_HOSTS, critestImages } from './critest-images.ts';
import { debianRoot } from './debian-root.ts';
import { acquireMachineLock } from './machine-lock.ts';
import { ImagePusher } from './push-image.ts';
import { writeRegistryHosts } from './registry-hosts.ts';
import { runCritest, STAGES } from './run-critest.ts';
import { printSummary, type RunResult } from './summary.ts';

const text = { type: 'string' } as const;
const { values: options } = parseArgs({ options: { nodelet: text, handler: text, logs: text } });

const unfit = clusterToolsSkipReason('critest') || embeddedSkipReason() || registrySkipReason();
if (unfit) console.log(`critest: skipped: ${unfit}`);
else if (!(await critest())) process.exitCode = 1;

async function critest(): Promise<boolean> {
  using _lock = await acquireMachineLock('critest'); // its specs use fixed ports of the host
  const logs = options.logs ?? mkdtempSync(join(tmpdir(), 'nodelet-critest-'));
  mkdirSync(logs, { recursive: true });
  const registry = await startRegistry();
  try {
    const pusher = new ImagePusher(registry.address);
    for (const image of critestImages(debianRoot(dirname(clusterToolsFolder())))) await pusher.push(image);
    const results = await runStages(registry.address, logs);
    unmountBelow(logs); // failed specs leave mounts behind
    const isGood = printSummary(results, (line) => console.log(line));
    if (!isGood) console.log(`\ncritest: logs in ${logs}`);
    else if (options.logs === undefined) rmSync(logs, { recursive: true });
    return isGood;
  } finally {
    await registry.stop();
  }
}

/** Runs the whole suite against one runtime, which is stopped afterwards. */
async function runStages(registry: string, logs: string): Promise<readonly RunResult[]> {
  const hosts = mkdtempSync(join(tmpdir(), 'nodelet-critest-hosts-'));
  writeRegistryHosts(hosts, CRITEST_HOSTS, registry);
  const command = options.nodelet ? { command: [options.nodelet] } : {};
  const runtime = await startEmbedded({ ...command, flags: ['--registry-config-dir', hosts], hostPorts: true });
  const { endpoint } = runtime;
  const before = new Set(sharedMemory());
  try {
    const results: RunResult[] = [];
    for (const lanes of STAGES) {
      await Promise.all(
        lanes.map(async (runs) => {
          for (const run of runs)
            results.push(await runCritest(run, { endpoint, handler: options.handler ?? '' }, logs));
        }),
      );
    }
    return results;
  } finally {
    await runtime.stop();
    rmSync(hosts, { recursive: true, force: true });
    // Two specs create a segment each with `ipcmk` and do not remove it.
    for (const id of sharedMemory().filter((each) => !before.has(each))) execFileSync('ipcrm', ['-m', id]);
  }
}

/** Shared memory segments without users whose creator has exited. */
function sharedMemory(): string[] {
  const lines = readFileSync('/proc/sysvipc/shm', 'utf8').trim().split('\n').slice(1);
  return lines.flatMap((line) => {
    const [, id = '', , , creator, , users] = line.trim().split(/\s+/);
    return users === '0' && !existsSync(`/proc/${creator}`) ? [id] : [];
  });
}
