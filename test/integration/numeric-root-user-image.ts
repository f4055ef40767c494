import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { busyboxImage } from '../../src/app/images/local-images.ts';
import { type ImageConfig, ociArchive } from '../../src/app/images/oci-archive.ts';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';

const BUSYBOX = '/bin/busybox';
/** Account names of root that are numbers no process can have. */
const NUMBERS = ['4294967296', '4294967295', '2147483648', '-1'];
const PASSWD = ['root:x:0:0::/:/bin/sh', ...NUMBERS.map((number) => `${number}:x:0:0::/:/bin/sh`), ''].join('\n');
const GROUPS = ['root:x:0:', ...NUMBERS.map((number) => `${number}:x:0:`), ''].join('\n');

/** An archive of busybox whose USER is a number that its account files use as a name of root. */
export function numericRootUserImage(folder: string, reference: string, user = '4294967296'): Promise<string> {
  return busyboxImageWith(folder, reference, { User: user }, { 'etc/passwd': PASSWD, 'etc/group': GROUPS });
}

/** An archive of busybox with its own configuration and files. */
export async function busyboxImageWith(
  folder: string,
  reference: string,
  config: ImageConfig,
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const applets = (await promisify(execFile)(BUSYBOX, ['--list'])).stdout.trim().split('\n');
  const plain = busyboxImage(goArchitecture(), readFileSync(BUSYBOX), applets);
  const content = {
    ...plain,
    reference,
    files: [
      ...plain.files.filter(({ path }) => !(path in files)),
      ...Object.entries(files).map(
        ([path, text]) => ({ kind: 'file', path, mode: 0o644, data: new TextEncoder().encode(text) }) as const,
      ),
    ],
    config: { ...plain.config, ...config },
  };
  const archive = join(folder, `${reference.replaceAll(/\W/g, '-')}.tar`);
  writeFileSync(archive, ociArchive(content).bytes);
  return archive;
}
