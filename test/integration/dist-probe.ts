/**
 * A program for dist.test.ts. With a directory it creates a mount and a namespace there, and removes both again; with
 * `traces ENDPOINT` it exports a span.
 */
import { traceWork } from '../../src/base/trace-work.ts';
import { linuxMounts } from '../../src/host/linux/mount/linux-mounts.ts';
import { createLinuxNamespaces } from '../../src/host/linux/namespace/linux-namespaces.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { startTracing } from '../../src/observability/tracing/start-tracing.ts';

const [target = '', endpoint = ''] = process.argv.slice(2);
await (target === 'traces' ? exportSpan() : makeMounts());

async function makeMounts(): Promise<void> {
  const namespaces = createLinuxNamespaces();
  await linuxMounts.mount({ source: 'nodelet-probe', target, type: 'tmpfs' });
  try {
    const files = { network: `${target}/net`, uts: `${target}/uts` };
    await namespaces.create({ files, hostname: 'probe' });
    const found = (await linuxMounts.list()).filter((mount) => mount.target.startsWith(target));
    await namespaces.remove(Object.values(files));
    console.log(found.map(({ type, source }) => `${type} ${source}`).join(', '));
  } finally {
    await linuxMounts.unmount(target, { lazy: true });
  }
}

async function exportSpan(): Promise<void> {
  const settings = { endpoint, samplingRatePerMillion: 1_000_000, resource: {}, scope: 'probe' };
  await using _ = await startTracing(settings, {
    clock: linuxClock,
    log: { warn: console.error, info: console.error },
  });
  await traceWork(
    () => ({ name: 'probe', subject: 'probe' }),
    async () => {},
  );
}
