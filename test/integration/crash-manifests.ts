import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';

/** A directory of manifests that are created and removed. */
export class CrashManifests {
  readonly folder: string;
  created = 0;
  deleted = 0;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder);
  }

  get names(): string[] {
    return readdirSync(this.folder).map((file) => file.replace(/\.yaml$/, ''));
  }

  /** Removes an existing manifest, or creates a missing one as a pod of the same name with a different UID. */
  toggle(name: string): void {
    if (existsSync(this.#path(name))) this.remove(name);
    else this.add(name);
  }

  add(name: string): void {
    this.created++;
    const hidden = join(this.folder, '..', `${name}.tmp`); // so that the rename is atomic
    writeFileSync(hidden, manifest(name, this.created));
    renameSync(hidden, this.#path(name));
  }

  remove(name: string): void {
    this.deleted++;
    rmSync(this.#path(name));
  }

  #path(name: string): string {
    return join(this.folder, `${name}.yaml`);
  }
}

function manifest(name: string, generation: number): string {
  const container = (role: string, line: string): string =>
    `{name: ${role}, image: "${BUSYBOX_IMAGE}", command: [sh, -c, ${JSON.stringify(line)}],
      volumeMounts: [{name: data, mountPath: /data}]}`;
  return `apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {generation: "${generation}"}}
spec:
  terminationGracePeriodSeconds: 5
  volumes: [{name: data, emptyDir: {medium: ${generation % 2 ? 'Memory' : '""'}}}]
  initContainers:
  - ${container('prepare', 'echo prepared > /data/page')}
  containers:
  - ${container('main', "trap 'exit 0' TERM; sleep 1000 & wait")}
`;
}
