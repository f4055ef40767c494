/** A program for dist.test.ts: creates a mount and a namespace in the given directory, and removes both again. */
import { linuxMounts } from '../../src/host/linux/mount/linux-mounts.ts';
import { createLinuxNamespaces } from '../../src/host/linux/namespace/linux-namespaces.ts';

const target = process.argv[2] ?? '';
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
