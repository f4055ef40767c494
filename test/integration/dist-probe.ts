/** A program for dist.test.ts: makes a mount in the folder it is told, and takes it away again. */
import { linuxMounts } from '../../src/host/linux/linux-mounts.ts';

const target = process.argv[2] ?? '';
await linuxMounts.mount({ source: 'nodelet-probe', target, type: 'tmpfs' });
const found = (await linuxMounts.list()).find((mount) => mount.target === target);
await linuxMounts.unmount(target);
console.log(`${found?.type} ${found?.source}`);
