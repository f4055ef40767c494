// `make critest`: runs critest, the validation suite of CRI, as it is published, against `nodelet cri`. Its images are
// made here and come from a registry on loopback, to which the names of the published ones lead.
//
//   --nodelet PROGRAM   another program than that of this checkout
//   --handler NAME      another OCI runtime than the default: crun, runc
//   --logs FOLDER       where the logs and reports go
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { clusterToolsFolder, clusterToolsSkipReason } from '../integration/cluster-tools.ts';
import { unmountBelow } from '../integration/containerd-leftovers.ts';
import { registrySkipReason, startRegistry } from '../integration/registry-fixture.ts';
import { embeddedSkipReason, startEmbedded } from '../integration/runtime-fixture.ts';
import { CRITEST_HOSTS, critestImages } from './critest-images.ts';
import { debianRoot } from './debian-root.ts';
import { machineTurn } from './machine-turn.ts';
import { ImagePusher } from './push-image.ts';
import { runCritest, STAGES } from './run-critest.ts';
import { printSummary, type RunResult } from './summary.ts';

const text = { type: 'string' } as const;
const { values: options } = parseArgs({ options: { nodelet: text, handler: text, logs: text } });

const unfit = clusterToolsSkipReason('critest') || embeddedSkipReason() || registrySkipReason();
if (unfit) console.log(`critest: skipped: ${unfit}`);
else if (!(await critest())) process.exitCode = 1;

async function critest(): Promise<boolean> {
  using _turn = await machineTurn('critest'); // its specs take ports of this machine, always the same
  const logs = options.logs ?? mkdtempSync(join(tmpdir(), 'nodelet-critest-'));
  mkdirSync(logs, { recursive: true });
  const registry = await startRegistry();
  try {
    const pusher = new ImagePusher(registry.address);
    for (const image of critestImages(debianRoot(dirname(clusterToolsFolder())))) await pusher.push(image);
    const results = await runStages(registry.address, logs);
    unmountBelow(logs); // specs that fail leave mounts behind
    const isGood = printSummary(results, (line) => console.log(line));
    if (!isGood) console.log(`\ncritest: logs in ${logs}`);
    else if (options.logs === undefined) rmSync(logs, { recursive: true });
    return isGood;
  } finally {
    await registry.stop();
  }
}

/** Every run of the suite, against a runtime of its own, which is gone afterwards. */
async function runStages(registry: string, logs: string): Promise<readonly RunResult[]> {
  const hosts = mkdtempSync(join(tmpdir(), 'nodelet-critest-hosts-'));
  writeHosts(hosts, registry);
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
    // Two specs make a segment each with `ipcmk` and leave it to the machine.
    for (const id of sharedMemory().filter((each) => !before.has(each))) execFileSync('ipcrm', ['-m', id]);
  }
}

/** The segments that nobody uses and whose maker is gone. */
function sharedMemory(): string[] {
  const lines = readFileSync('/proc/sysvipc/shm', 'utf8').trim().split('\n').slice(1);
  return lines.flatMap((line) => {
    const [, id = '', , , maker, , users] = line.trim().split(/\s+/);
    return users === '0' && !existsSync(`/proc/${maker}`) ? [id] : [];
  });
}

/** As containerd reads them: the hosts in front of critest's names lead to the registry. */
function writeHosts(folder: string, registry: string): void {
  const url = `http://${registry}`;
  const content = `server = "${url}"\n\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`;
  for (const host of CRITEST_HOSTS) {
    mkdirSync(join(folder, host), { recursive: true });
    writeFileSync(join(folder, host, 'hosts.toml'), content);
  }
}
