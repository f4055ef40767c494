import assert from 'node:assert/strict';
import { test } from 'node:test';
import { directoryPage } from './directory-page.ts';

async function page(...batches: readonly { name: string; isFolder: boolean }[][]): Promise<string> {
  const entries = async function* () {
    yield* batches;
  };
  return (await Array.fromAsync(directoryPage(entries()))).join('');
}

const file = (name: string) => ({ name, isFolder: false });

test("directoryPage() is Go's page of a folder", async () => {
  const text = await page([file('b'), { name: 'a', isFolder: true }], [file('a b&<"\'c.txt'), file('x:y'), file('ü%')]);
  assert.equal(
    text,
    `<!doctype html>
<meta name="viewport" content="width=device-width">
<pre>
<a href="a/">a/</a>
<a href="a%20b&%3C%22%27c.txt">a b&amp;&lt;&#34;&#39;c.txt</a>
<a href="b">b</a>
<a href="./x:y">x:y</a>
<a href="%C3%BC%25">ü%</a>
</pre>
`,
  );
});

test('directoryPage() has a bounded number of names, and stops reading there', async () => {
  let batches = 0;
  const endless = async function* () {
    for (;;) yield Array.from({ length: 256 }, (_, index) => file(`${batches++}-${index}`));
  };
  let lines = 0;
  for await (const chunk of directoryPage(endless())) lines += chunk.split('\n').length - 1;
  assert.equal(lines, 50_000 + 5);
});

test('directoryPage() shows names that are not valid UTF-8', async () => {
  assert.match(await page([file('a\udcff')]), /<a href="a%EF%BF%BD">/);
});
