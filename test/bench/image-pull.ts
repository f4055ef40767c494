/**
 * Pulls an image from a registry on loopback and unpacks it: `nodelet cri` compared with Debian's containerd, alternating in
 * one run, the image removed and the disk synced in between. The image contains this machine's own software.
 *
 *   make dist && scripts/node test/bench/image-pull.ts [--rounds 7] [--megabytes 540] [--kinds gzip,zstd,one] [--source]
 *
 * `--megabytes` is the unpacked size of the layers; `one` is the same in one layer of gzip. `--source` runs `nodelet cri` from
 * the checkout instead of dist/nodelet.mjs.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { PullImageRequest, RemoveImageRequest } from '../../src/cri/generated/runtime-v1.ts';
import { startRegistry, trustRegistry } from '../integration/registry-fixture.ts';
import { header, inTurns, row, type Side, startBoth, timed } from './both-runtimes.ts';
import { mountPrivateDisk } from './private-disk.ts';
import { measureUsage, type UsageMeter } from './resource-usage.ts';
import { softwareImage, softwareLayers } from './software-image.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    megabytes: { type: 'string', default: '540' },
    kinds: { type: 'string', default: 'gzip,zstd,one' },
    source: { type: 'boolean', default: false },
  },
});

/** The figures of one pull. */
interface Spent {
  readonly ms: number;
  readonly cpuMs: number;
  readonly peakMb: number;
}

const signal = new AbortController().signal;

async function pulled({ cri, runtime }: Side, meter: UsageMeter, image: string): Promise<Spent> {
  execFileSync('sync');
  const pid = runtime.pid();
  writeFileSync(`/proc/${pid}/clear_refs`, '5'); // resets the peak
  const cpu = meter.cpuMs();
  const ms = await timed(() => cri.images.pullImage(PullImageRequest.fromPartial({ image: { image } }), signal));
  const spent = { ms, cpuMs: meter.cpuMs() - cpu, peakMb: peakMb(pid) };
  await cri.images.removeImage(RemoveImageRequest.fromPartial({ image: { image } }), signal);
  return spent;
}

function peakMb(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** An archive ends with two blocks of zeros; they are removed before archives are concatenated. */
function withoutEnd(archive: Uint8Array, at: number, all: readonly Uint8Array[]): Uint8Array {
  return at === all.length - 1 ? archive : archive.subarray(0, -1024);
}

function megabytes(parts: readonly Uint8Array[]): string {
  return `${(parts.reduce((sum, { byteLength }) => sum + byteLength, 0) / 1e6).toFixed(0)} MB`;
}

using _disk = mountPrivateDisk(8);
const { archives, files } = await softwareLayers(Number(values.megabytes) * 2 ** 20);
const registry = await startRegistry();
await using both = await startBoth(values);
const { sides } = both;
trustRegistry(sides[0].runtime.folder, registry.address);
const meters = new Map(sides.map((side) => [side, measureUsage(side.runtime)]));
const meterOf = (side: Side): UsageMeter => meters.get(side) ?? measureUsage(side.runtime);
try {
  console.log(`${files} files, folders and links, ${megabytes(archives)} unpacked`);
  header();
  for (const kind of values.kinds.split(',')) {
    const parts = kind === 'one' ? [Buffer.concat(archives.map(withoutEnd))] : archives;
    const compression = kind === 'zstd' ? 'zstd' : 'gzip';
    const image = await softwareImage(parts, compression);
    const name = await registry.pushContent(`software/${kind}`, image);
    const [theirs, ours] = await inTurns(sides, Number(values.rounds), (side) => pulled(side, meterOf(side), name));
    const of = (key: keyof Spent) => [theirs.map((each) => each[key]), ours.map((each) => each[key])] as const;
    const title = `${parts.length} × ${compression}, ${megabytes(image.layers)}`;
    row(title, of('ms'), 'ms');
    row(`${title}: CPU`, of('cpuMs'), 'ms');
    row(`${title}: peak memory`, of('peakMb'), 'MB', (all) => Math.max(...all));
  }
} finally {
  for (const meter of meters.values()) meter.close();
  await registry.stop();
}
