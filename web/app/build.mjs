// Bundles the page into ../dist, which is committed and embedded in the binary. The result depends on the sources
// and on package-lock.json alone: "make web-check" builds it again and compares.
import {build} from 'esbuild';
import {copyFileSync} from 'node:fs';

await build({
  entryPoints: {app: 'src/main.tsx', worker: 'src/language/worker.ts'},
  outdir: '../dist',
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  charset: 'utf8',
  legalComments: 'eof',
  logLevel: 'warning',
});
copyFileSync('src/icon.svg', '../dist/icon.svg');
