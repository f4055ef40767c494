import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerRecord } from '../../src/runtime/store/container-record.ts';
import { recordFromText } from '../../src/runtime/store/record-text.ts';
import type { SandboxRecord } from '../../src/runtime/store/sandbox-record.ts';

/** The records of an embedded runtime on disk, read from outside, also when its process is dead. */
export class RuntimeRecords {
  readonly #folder: string;

  constructor(rootDir: string) {
    this.#folder = join(rootDir, 'runtime');
  }

  sandboxes(): readonly SandboxRecord[] {
    return this.#read('sandboxes') as readonly SandboxRecord[]; // as the runtime wrote them
  }

  containers(): readonly ContainerRecord[] {
    return this.#read('containers') as readonly ContainerRecord[];
  }

  #read(kind: string): readonly unknown[] {
    const folder = join(this.#folder, kind);
    return names(folder).flatMap((name) => {
      try {
        return [recordFromText(readFileSync(join(folder, name), 'utf8'))];
      } catch {
        return []; // removed meanwhile
      }
    });
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}
