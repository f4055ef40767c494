import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..');

const documents = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(ROOT, path)));

/** Paths that a document refers to: link targets, and paths in backticks that begin with a folder of the project. */
function referencedPaths(document: string, text: string): string[] {
  const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => normalize(join(dirname(document), target)));
  const paths = [...text.matchAll(/`((?:src|test|tools|docs|scripts)\/[\w./-]+)`/g)].map(([, path = '']) => path);
  return [...links, ...paths];
}

test('documents are found', () => {
  assert.ok(documents.includes('ARCHITECTURE.md') && documents.includes('docs/glossary.md'));
});

for (const document of documents) {
  test(`${document} refers only to files that exist`, () => {
    const text = readFileSync(join(ROOT, document), 'utf8');
    const missing = referencedPaths(document, text).filter((path) => !existsSync(join(ROOT, path)));
    assert.deepEqual(missing, []);
  });
}
