// Makes dist/ from src/: one script and one style. Go puts both into src/page.html.
// The first line of the script is a hash of all sources, which a Go test
// compares without needing node.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import * as esbuild from "esbuild";

const sources = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"]
  .concat(readdirSync("src").sort().map((name) => `src/${name}`));
const sum = createHash("sha256");
for (const name of sources) sum.update(name + "\n").update(readFileSync(name));

mkdirSync("dist", { recursive: true });
await esbuild.build({
  entryPoints: { timeline: "src/main.ts" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  banner: {
    js: `/* sources ${sum.digest("hex")}; with d3-axis, d3-scale, d3-selection and d3-zoom, ISC License, Copyright Mike Bostock */`,
  },
});
await esbuild.build({ entryPoints: ["src/timeline.css"], outdir: "dist", bundle: true, minify: true });
