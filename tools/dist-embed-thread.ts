import { join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { embedKoffi, koffiAddon } from './dist-embed-koffi.ts';

const HOST = resolve(import.meta.dirname, '../src/host/linux/namespace');
const ENTRY = join(HOST, 'namespace-thread-entry.ts');
const PROGRAM = join(HOST, 'namespace-thread.ts');

/**
 * Embeds the program of the namespace thread into the bundle as text: a single executable has no file to start a thread
 * from. koffi's native part is in the bundle once; the thread receives its bytes.
 */
export function embedNamespaceThread(): Plugin {
  return {
    name: 'embed-namespace-thread',
    setup({ onLoad }) {
      onLoad({ filter: /namespace-thread-entry\.ts$/ }, async ({ path }) => {
        if (path !== ENTRY) return undefined;
        return {
          resolveDir: HOST,
          contents: `
            import koffiAddon from ${JSON.stringify(koffiAddon())};
            export const namespaceThread = {
              program: { text: ${JSON.stringify(await threadProgram())} },
              data: { koffiAddon },
            };`,
        };
      });
    },
  };
}

async function threadProgram(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [PROGRAM],
    write: false,
    bundle: true,
    platform: 'node',
    format: 'cjs', // the format of a thread that is started from text
    target: 'node24',
    define: { 'import.meta.url': '"file:///"' }, // koffi creates a `require` with it that is not needed here
    plugins: [handedOver(), embedKoffi("'koffi-addon:handed-over'")],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const [program] = outputFiles;
  if (program === undefined) throw new Error(`esbuild made nothing of ${PROGRAM}`);
  return program.text;
}

/** The bytes of koffi's native part, passed by the starter of the thread. */
function handedOver(): Plugin {
  return {
    name: 'koffi-addon-handed-over',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^koffi-addon:/ }, ({ path }) => ({ path, namespace: 'koffi-addon' }));
      onLoad({ filter: /.*/, namespace: 'koffi-addon' }, () => ({
        contents: `
          import { workerData } from 'node:worker_threads';
          export default workerData.koffiAddon;`,
      }));
    },
  };
}
