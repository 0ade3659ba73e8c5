// What check.mjs and clients.mjs work with.
import net from 'node:net'

const patience = 20_000

// within fails when a promise takes too long.
export function within (what, promise) {
  let timer
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not in time`)), patience)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

// Events that come one by one, to be waited for in order.
export function events () {
  const pending = []
  let wake = () => {}
  const push = event => { pending.push(event); wake() }
  return {
    next: value => push({ value }),
    error: error => push({ error }),
    complete: () => push({ complete: true }),
    pending,
    async take (what) {
      while (pending.length === 0) {
        await within(what, new Promise(resolve => { wake = resolve }))
      }
      return pending.shift()
    },
    // until takes events until one is as wanted, and gives it.
    async until (what, wanted) {
      for (let last; ;) {
        const event = await this.take(`${what}, last ${JSON.stringify(last)}`)
        if (event.error) throw event.error
        if (wanted(event.value)) return event.value
        last = event.value
      }
    }
  }
}

// proxy forwards to the server, counts connections, and can cut them all.
export async function proxy (url) {
  const target = new URL(url)
  const open = new Set()
  const self = { dials: 0 }
  const server = net.createServer(near => {
    self.dials++
    const far = net.connect(Number(target.port), target.hostname)
    for (const [from, to] of [[near, far], [far, near]]) {
      open.add(from)
      from.on('error', () => {})
      from.on('close', () => { open.delete(from); to.destroy() })
      from.pipe(to)
    }
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const at = new URL(url)
  at.port = String(server.address().port)
  self.http = at.href
  self.ws = at.href.replace(/^http/, 'ws')
  self.cut = () => { for (const socket of open) socket.destroy() }
  self.close = () => { self.cut(); server.close() }
  return self
}

// The text that an error brings along, wherever a client keeps it.
export function reasonOf (error) {
  const inner = error.cause ?? error
  return [error.reason, error.message, inner.reason, inner.message, error.networkError?.reason, String(error)].filter(Boolean).join(' | ')
}

// Lines that come in, one by one.
export function lines (stream) {
  const got = events()
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', text => {
    const whole = (rest + text).split('\n')
    rest = whole.pop()
    whole.forEach(got.next)
  })
  return got
}
