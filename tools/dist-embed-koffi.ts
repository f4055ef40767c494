import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'esbuild';

/** The koffi module that is searched first for the native part. */
const LOADER = /^\.\/src\/static\.js$/;

/** koffi's native part for this machine's architecture (glibc). */
export function koffiAddon(): string {
  const require = createRequire(import.meta.url);
  return join(
    dirname(require.resolve(`@koromix/koffi-linux-${process.arch}/package.json`)),
    `linux_${process.arch}/koffi.node`,
  );
}

/** Puts koffi's native part into the bundle; `bytes` is a module whose default export it is. */
export function embedKoffi(bytes = JSON.stringify(koffiAddon())): Plugin {
  return {
    name: 'embed-koffi',
    setup(build) {
      build.onResolve({ filter: LOADER }, ({ importer }) =>
        importer.includes('/node_modules/koffi/') ? { path: 'loader', namespace: 'embed-koffi' } : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: 'embed-koffi' }, () => ({
        resolveDir: import.meta.dirname,
        contents: `
          import { loadAddon } from './dist-addon-loader.ts';
          import bytes from ${bytes};
          export const loadStatic = () => loadAddon(bytes);`,
      }));
    },
  };
}
