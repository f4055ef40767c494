import assert from 'node:assert/strict';
import { test } from 'node:test';
import { folderCycles } from './folder-cycles.ts';

const file = (path: string, ...imports: readonly string[]) => ({
  path,
  text: imports.map((specifier) => `import { a } from '${specifier}';\n`).join(''),
});

const cases: Record<string, { given: ReturnType<typeof file>[]; errors: string[] }> = {
  'accepts imports in one direction': {
    given: [file('src/a/x.ts', '../b/y.ts'), file('src/b/y.ts', '../c/z.ts')],
    errors: [],
  },
  'reports two folders that import each other, even through different files': {
    given: [file('src/a/x.ts', '../b/y.ts'), file('src/b/z.ts', '../a/w.ts')],
    errors: ['src/b/z.ts:1: import of ../a/w.ts closes a cycle of folders: src/a → src/b → src/a'],
  },
  'reports a longer cycle': {
    given: [file('src/a/x.ts', '../b/y.ts'), file('src/b/y.ts', '../c/z.ts'), file('src/c/z.ts', '../a/x.ts')],
    errors: ['src/c/z.ts:1: import of ../a/x.ts closes a cycle of folders: src/a → src/b → src/c → src/a'],
  },
  'counts a folder and its subfolder': {
    given: [file('src/a/x.ts', './sub/y.ts'), file('src/a/sub/y.ts', '../z.ts')],
    errors: ['src/a/sub/y.ts:1: import of ../z.ts closes a cycle of folders: src/a → src/a/sub → src/a'],
  },
  'leaves tests, fixtures and in-memory implementations out': {
    given: [
      file('src/a/x.ts', '../b/y.ts'),
      file('src/b/y.test.ts', '../a/x.ts'),
      file('src/b/y.fixture.ts', '../a/x.ts'),
      file('src/b/fake/y.ts', '../../a/x.ts'),
    ],
    errors: [],
  },
};

for (const [name, { given, errors }] of Object.entries(cases)) {
  test(`folderCycles() ${name}`, () => {
    assert.deepEqual(folderCycles(given), errors);
  });
}
