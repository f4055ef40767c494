// `make critest`: runs the published critest, the validation suite of CRI, against `nodelet cri`. Its images are built
// here and pulled from a local registry, to which the hosts of the published images are redirected.
//
//   --nodelet PROGRAM        the program under test (default: this checkout)
//   --handler NAME           the OCI runtime: crun, runc (default: the runtime's default)
//   --cgroup-driver DRIVER   cgroupfs, systemd (default: cgroupfs)
//   --logs FOLDER            directory for logs and reports
//   --focus REGEXP           only these specs; repeatable
//   --serial                 one spec after the other, for a slow machine
//   --attempts N             runs of a spec until it counts as failed (default 1), for a slow machine
//   --registry ADDRESS       a registry that has the images, in place of one that is started and filled here
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { clusterToolsSkipReason } from '../integration/cluster-tools.ts';
import { registrySkipReason } from '../integration/registry-fixture.ts';
import { unmountBelow } from '../integration/runtime-cleanup.ts';
import { embeddedSkipReason, startEmbedded } from '../integration/runtime-fixture.ts';
import { CRITEST_HOSTS } from './critest-images.ts';
import { acquireMachineLock } from './machine-lock.ts';
import { writeRegistryHosts } from './registry-hosts.ts';
import { runCritest, STAGES, type Stages } from './run-critest.ts';
import { serveCritestImages } from './serve-images.ts';
import { printSummary, type RunResult } from './summary.ts';

const text = { type: 'string' } as const;
const texts = { type: 'string', multiple: true } as const;
const flag = { type: 'boolean', default: false } as const;
const { values: options } = parseArgs({
  options: {
    nodelet: text,
    handler: text,
    'cgroup-driver': text,
    logs: text,
    focus: texts,
    serial: flag,
    attempts: text,
    registry: text,
  },
});

const unfit =
  clusterToolsSkipReason('critest') || embeddedSkipReason() || (options.registry ? false : registrySkipReason());
if (unfit) console.log(`critest: skipped: ${unfit}`);
else if (!(await critest())) process.exitCode = 1;

async function critest(): Promise<boolean> {
  using _lock = await acquireMachineLock('critest'); // its specs use fixed ports of the host
  const logs = options.logs ?? mkdtempSync(join(tmpdir(), 'nodelet-critest-'));
  mkdirSync(logs, { recursive: true });
  const registry = options.registry ? undefined : await serveCritestImages();
  try {
    const results = await runStages(options.registry ?? registry?.address ?? '', logs);
    unmountBelow(logs); // failed specs leave mounts behind
    const isGood = printSummary(results, (line) => console.log(line));
    if (!isGood) console.log(`\ncritest: logs in ${logs}`);
    else if (options.logs === undefined) rmSync(logs, { recursive: true });
    return isGood;
  } finally {
    await registry?.stop();
  }
}

/** Runs the whole suite against one runtime, which is stopped afterwards. */
async function runStages(registry: string, logs: string): Promise<readonly RunResult[]> {
  const hosts = mkdtempSync(join(tmpdir(), 'nodelet-critest-hosts-'));
  writeRegistryHosts(hosts, CRITEST_HOSTS, registry);
  const command = options.nodelet ? { command: [options.nodelet] } : {};
  const driver = options['cgroup-driver'] ? ['--cgroup-driver', options['cgroup-driver']] : [];
  const flags = ['--registry-config-dir', hosts, ...driver];
  const runtime = await startEmbedded({ ...command, flags, hostPorts: true });
  const { endpoint } = runtime;
  const attempts = Number(options.attempts ?? 1);
  const before = new Set(sharedMemory());
  try {
    const results: RunResult[] = [];
    for (const lanes of stages()) {
      await Promise.all(
        lanes.map(async (runs) => {
          for (const run of runs)
            results.push(await runCritest(run, { endpoint, handler: options.handler ?? '', attempts }, logs));
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

function stages(): Stages {
  if (options.focus) return [[options.focus.map((focus, index) => ({ name: `focus-${index + 1}`, focus }))]];
  return options.serial ? [[STAGES.flat(2)]] : STAGES;
}

/** Shared memory segments without users whose creator has exited. */
function sharedMemory(): string[] {
  const lines = readFileSync('/proc/sysvipc/shm', 'utf8').trim().split('\n').slice(1);
  return lines.flatMap((line) => {
    const [, id = '', , , creator, , users] = line.trim().split(/\s+/);
    return users === '0' && !existsSync(`/proc/${creator}`) ? [id] : [];
  });
}
