// npm run check:fresh [-- OPTIONS]: makes a bare system in a folder with debootstrap, with nothing but
// certificates, git and this Node.js, clones the commit into it, and runs what README promises there.
//   --system NAME   bookworm (default), trixie or noble
//   --all           runs `npm test` after `npm start -- --once`
//   --cheap         for .ci/run: installs every group of scripts/setup in Debian 12, configures every
//                   build, and tells the story with the modules that were built outside. Meanwhile
//                   reads all C++ sources with the compiler of Debian 13.
//   --keep          keeps the system's folder
// Packages come from the mirrors that this machine uses. Downloads and the system before its first
// use are kept in build/fresh, or the folder KINGLET_FRESH. All mounts belong to namespaces which end
// with the commands that need them, so that none is left, whatever happens.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fail, root } from './tools.mjs';

const { values: options } = parseArgs({
  options: {
    system: { type: 'string', default: 'bookworm' },
    all: { type: 'boolean' },
    cheap: { type: 'boolean' },
    keep: { type: 'boolean' },
  },
});

const debian = {
  components: 'main',
  suites: ['', '-updates', '-security'],
  keyring: '/usr/share/keyrings/debian-archive-keyring.gpg',
};
const ubuntu = {
  components: 'main universe',
  suites: ['', '-updates', '-security'],
  keyring: '/usr/share/keyrings/ubuntu-archive-keyring.gpg',
};
const systems = { bookworm: debian, trixie: debian, noble: ubuntu };
if (!(options.system in systems)) {
  fail(
    `check:fresh: unknown system ${options.system}, expected ${Object.keys(systems).join(', ')}`,
  );
}

const folder = resolve(process.env.KINGLET_FRESH ?? join(root, 'build/fresh'));
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
// Where the project lies in the system, and the shared files beside it.
const project = '/opt/kinglet';
const shared = '/opt/shared';

// How the system is entered: mounts that only the command and its children see, and processes that
// end with it. $1 is the system, the others are pairs of folders: one outside and one in it.
const enter = `
system=$1; shift
mount -t proc proc "$system/proc"
mount --rbind /dev "$system/dev"
while [ "$1" != -- ]; do
  mount --bind "$1" "$system$2"
  case "$2" in ${shared}) mount -o remount,bind,ro "$system$2";; esac
  shift 2
done
shift
exec chroot "$system" "$@"`;
const namespace = ['--mount', '--pid', '--fork', '--kill-child'];

const names = options.cheap ? ['bookworm', 'trixie'] : [options.system];
if (process.getuid?.() === 0 && which('apt-get'))
  spawnSync(join(root, 'scripts/setup'), ['fresh'], { stdio: 'inherit' });
const lack = whatIsMissing(names);
if (lack) {
  console.log(`check:fresh was left out: ${lack}`);
  process.exit(options.cheap ? 0 : 1);
}

const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    for (const child of running) child.kill('SIGKILL');
    process.exit(1);
  });
}

const began = Date.now();
const commit = git('rev-parse', 'HEAD');
if (git('status', '--porcelain', '--untracked-files=no') !== '') {
  console.log(
    'Warning: what is checked is the last commit, without the changes that are not in it.',
  );
}
let failed = false;
if (options.cheap) {
  const outcomes = await Promise.allSettled([checkSetup(names[0]), checkSources(names[1])]);
  for (const { reason } of outcomes.filter(({ status }) => status === 'rejected')) {
    report(reason);
  }
} else {
  await runEverything(options.system).catch(report);
}
console.log(`check:fresh: ${failed ? 'failed' : 'passed'} after ${seconds(began)} s`);
process.exitCode = failed ? 1 : 0;

/** What README promises: both commands, with all output. */
async function runEverything(name) {
  await inSystem(name, async (system) => {
    await system.run('npm start -- --once', { shows: true });
    if (options.all) await system.run('npm test', { shows: true });
  });
}

/** Every group of packages can be installed, and what needs them finds them. */
async function checkSetup(name) {
  await inSystem(name, async (system) => {
    await system.run('scripts/setup wasm');
    await tellStory(system);
    await system.run('scripts/setup native');
    await system.run('node scripts/build-wasm.mjs --configure');
    await system.run('cmake --preset native');
    await system.run('scripts/setup sanitize');
    await system.run(
      'cmake --preset clang -B build/sanitize -DKINGLET_SANITIZE=address,undefined -DKINGLET_FUZZ=ON',
    );
    await system.run('scripts/setup arm64');
    await system.run('cmake --preset linux-arm64');
    await system.run('scripts/setup lint analyze');
    await system.run('scripts/setup browser');
  });
}

/** Builds the package around modules that were built outside, and tells a story with it. */
async function tellStory(system) {
  const modules = join(root, 'build/wasm');
  if (!existsSync(modules)) {
    console.log(`${system.name}: the story was left out: there is no build/wasm`);
    return;
  }
  cpSync(modules, join(system.folder, project, 'build/wasm'), { recursive: true });
  await system.run('npm start -- --once --no-wasm');
}

/** The system's compiler reads all C++ sources without a warning. */
async function checkSources(name) {
  await inSystem(name, async (system) => {
    await system.run('scripts/setup native');
    await system.run('cmake -G Ninja -S . -B build/syntax');
    await system.run('node scripts/check-syntax.mjs build/syntax');
  });
}

/** Makes a system with a clone of the project, calls the function with it, and removes it. */
async function inSystem(name, use) {
  const base = await makeBase(name, findSuite(name));
  const work = join(folder, name);
  remove(work);
  execFileSync('cp', ['-a', '--reflink=auto', base, work]);
  cloneInto(join(work, project));
  const system = {
    name,
    folder: work,
    run: (command, options) => runIn(name, work, command, options),
  };
  try {
    await use(system);
  } finally {
    if (!options.keep) remove(work);
  }
}

/** Returns the folder of a system as debootstrap makes it, with Node.js. It is made once. */
async function makeBase(name, mirror) {
  const base = join(folder, `${name}-base`);
  if (existsSync(base)) {
    const made = statSync(base).birthtime.toISOString().slice(0, 10);
    console.log(`${name}: the base of ${made} is used again (${base})`);
  } else {
    const start = Date.now();
    const unfinished = `${base}.unfinished`;
    remove(unfinished);
    // No waiting for the disk after each package.
    write(join(unfinished, 'etc/dpkg/dpkg.cfg.d/fresh'), 'force-unsafe-io\n');
    mkdirSync(debsOf(name), { recursive: true });
    const { keyring } = systems[name];
    await finish(
      `${name}: debootstrap`,
      spawn(
        'unshare',
        [
          ...[...namespace, 'debootstrap', '--variant=minbase', '--include=ca-certificates,git'],
          ...[`--keyring=${keyring}`, `--cache-dir=${debsOf(name)}`, name, unfinished, mirror],
        ],
        { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...proxies() } },
      ),
    );
    console.log(`${name}: made the base system: ${seconds(start)} s`);
    renameSync(unfinished, base);
  }
  await copySettings(name, base);
  copyNode(base);
  return base;
}

/** Copies what lets apt, npm and git reach their servers from this machine. */
async function copySettings(name, base) {
  const { components, keyring, suites } = systems[name];
  rmSync(join(base, 'etc/apt/sources.list'), { force: true });
  const entries = suites
    .map((suffix) => ({ suite: name + suffix, uri: findSuite(name + suffix) }))
    .filter(({ uri }) => uri)
    .map(
      ({ suite, uri }) =>
        `Types: deb\nURIs: ${uri}\nSuites: ${suite}\nComponents: ${components}\nSigned-By: ${keyring}\n`,
    );
  write(join(base, 'etc/apt/sources.list.d/fresh.sources'), entries.join('\n'));
  const proxySettings = execFileSync('apt-config', ['dump'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => /^Acquire::https?::.*Proxy/i.test(line));
  write(join(base, 'etc/apt/apt.conf.d/fresh'), `${proxySettings.join('\n')}\n`);

  const certificates = '/usr/local/share/ca-certificates';
  if (existsSync(certificates)) cpSync(certificates, join(base, certificates), { recursive: true });
  await runIn(name, base, 'update-ca-certificates', { cwd: '/' });
  const named = Object.values(reachEnvironment()).filter((value) => value.startsWith('/'));
  const npmrcs = [[join(homedir(), '.npmrc'), '/root/.npmrc']];
  const files = ['/etc/resolv.conf', '/etc/hosts', ...named].map((file) => [file, file]);
  for (const [from, to] of [...files, ...npmrcs]) {
    if (!statSync(from, { throwIfNoEntry: false })?.isFile()) continue;
    const target = join(base, to);
    mkdirSync(dirname(target), { recursive: true });
    rmSync(target, { force: true }); // it may be a link
    copyFileSync(from, target);
  }
}

/** Copies this Node.js and its npm to /usr/local. */
function copyNode(base) {
  const npm = dirname(dirname(realpathSync(process.env.npm_execpath ?? which('npm'))));
  const local = join(base, 'usr/local');
  copyFileSync(process.execPath, join(local, 'bin/node'));
  rmSync(join(local, 'lib/node_modules/npm'), { recursive: true, force: true });
  cpSync(npm, join(local, 'lib/node_modules/npm'), { recursive: true });
  for (const name of ['npm', 'npx']) {
    rmSync(join(local, 'bin', name), { force: true });
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
  }
}

function cloneInto(target) {
  mkdirSync(dirname(target), { recursive: true });
  execFileSync('git', ['clone', '--quiet', '--no-checkout', '--no-hardlinks', root, target]);
  execFileSync('git', ['-C', target, 'checkout', '--quiet', '--detach', commit]);
}

/** Runs a command in a system. Its output is shown, or only if it fails. */
async function runIn(name, system, command, { shows = false, cwd = project } = {}) {
  const start = Date.now();
  const npmCache = join(folder, 'npm');
  const mounts = [
    [debsOf(name), '/var/cache/apt/archives'],
    [npmCache, '/root/.npm'],
  ];
  const beside = join(root, '../shared');
  if (existsSync(beside)) mounts.push([realpathSync(beside), shared]);
  for (const [from, to] of mounts) {
    mkdirSync(from, { recursive: true });
    mkdirSync(join(system, to), { recursive: true });
  }
  const environment = {
    ...{ HOME: '/root', LANG: 'C.UTF-8', PATH: path, TERM: 'dumb' },
    ...reachEnvironment(),
  };
  if (shows) console.log(`== ${name}: ${command}`);
  const child = spawn(
    'unshare',
    [
      ...[...namespace, 'sh', '-ec', enter, 'enter', system, ...mounts.flat(), '--'],
      // bash waits for all children of programs that have ended, as the first process must.
      ...['/bin/bash', '-c', 'cd "$0" && eval "$1"; exit $?', cwd, command],
    ],
    {
      env: environment,
      stdio: shows ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
    },
  );
  await finish(`${name}: ${command}`, child);
  if (cwd === project) console.log(`${name}: ${command}: ${seconds(start)} s`);
}

/** Waits for a process. Throws an error with what it printed if it fails. */
function finish(what, child) {
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => (output += text));
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => {
      running.delete(child);
      if (status === 0) resolve();
      else reject(new Error(`${output.slice(-4000)}${what} failed`));
    });
  });
}

function report(error) {
  failed = true;
  console.error(error.message);
}

/** Variables that say how to reach servers: proxies, certificates, npm's registry. */
function reachEnvironment() {
  const npmSettings = /^npm_config_(registry|proxy|https_proxy|noproxy|cafile|strict_ssl)$/;
  const others =
    /^(https?_proxy|no_proxy|all_proxy|\w*_CA_(CERTS|BUNDLE)|SSL_CERT_\w+|GIT_SSL_CAINFO)$/i;
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => name.startsWith('NPM_CONFIG_') || npmSettings.test(name) || others.test(name),
    ),
  );
}

/** The proxy of apt, for debootstrap, which does not read apt's settings. */
function proxies() {
  const shell = [
    'shell',
    'http_proxy',
    'Acquire::http::Proxy',
    'https_proxy',
    'Acquire::https::Proxy',
  ];
  const text = execFileSync('apt-config', shell, { encoding: 'utf8' });
  return Object.fromEntries(
    [...text.matchAll(/^(\w+)='(.*)'$/gm)]
      .map(([, name, value]) => [name, value])
      .filter(([name]) => !process.env[name]),
  );
}

/** The mirror among those of this machine that has the system or a part of it. */
function findSuite(suite) {
  return mirrors().find((uri) => has(uri, suite));
}

function has(uri, suite) {
  const url = `${uri.replace(/\/$/, '')}/dists/${suite}/InRelease`;
  const { status } = spawnSync('wget', ['-q', '--spider', '--timeout=20', '--tries=2', url], {
    env: { ...process.env, ...proxies() },
  });
  return status === 0;
}

/** The addresses in apt's lists, which are in one of two formats. */
function mirrors() {
  const folderOfLists = '/etc/apt/sources.list.d';
  const files = existsSync(folderOfLists)
    ? readdirSync(folderOfLists).map((name) => join(folderOfLists, name))
    : [];
  const uris = ['/etc/apt/sources.list', ...files].flatMap((file) => {
    if (!existsSync(file)) return [];
    const text = readFileSync(file, 'utf8');
    if (file.endsWith('.sources')) {
      return [...text.matchAll(/^URIs:(.*)$/gim)].flatMap(([, list]) => list.trim().split(/\s+/));
    }
    if (!file.endsWith('.list')) return [];
    return [...text.matchAll(/^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)/gm)].map(([, uri]) => uri);
  });
  return [...new Set(uris.filter((uri) => /^https?:/.test(uri)))];
}

function whatIsMissing(names) {
  if (process.platform !== 'linux') return 'it needs Linux';
  if (process.getuid() !== 0) return 'only root can enter another system';
  for (const program of ['debootstrap', 'apt-config', 'chroot', 'git', 'unshare', 'wget']) {
    if (!which(program)) return `there is no ${program}`;
  }
  const { status } = spawnSync('unshare', [...namespace, 'mount', '-t', 'proc', 'proc', '/proc']);
  if (status !== 0) return 'root may not mount here';
  const unknown = names.find((name) => !findSuite(name));
  return unknown && `none of the mirrors that apt uses on this machine has ${unknown}`;
}

/** Removes a folder in which nothing is mounted. */
function remove(target) {
  if (!existsSync(target)) return;
  const mounted = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${realpathSync(target)}/`));
  if (mounted.length > 0) fail(`${target} is not removed: ${mounted.join(', ')} is mounted`);
  execFileSync('rm', ['-rf', '--one-file-system', target]);
}

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function which(program) {
  const { status, stdout } = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

function git(...args) {
  return execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();
}

function debsOf(name) {
  return join(folder, `${name}-debs`);
}

function seconds(start) {
  return Math.round((Date.now() - start) / 1000);
}
