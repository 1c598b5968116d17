"""Writes src/lower/special_coefficients.h: Chebyshev fits of special functions from 40-digit mpmath values."""
from mpmath import mp, mpf, besseli, besselk, besselj, bessely, airyai, airybi, erfc, exp, sqrt, pi, cos, sin, log
mp.dps=40
def cheb(f,n,N=None,tol=mpf(10)**-17):
    N=N or 2*n+20
    xs=[cos(pi*(k+mpf(1)/2)/N) for k in range(N)]
    fs=[f(x) for x in xs]
    c=[2/mpf(N)*sum(fs[k]*cos(pi*j*(k+mpf(1)/2)/N) for k in range(N)) for j in range(n)]
    m=max(abs(v) for v in c)
    while len(c)>1 and abs(c[-1])<tol*m: c.pop()
    return c
out=[]
def emit(name,c):
    out.append("static const double tt_special_%s[] = {"%name)
    for i in range(0,len(c),3): out.append("  "+", ".join(mp.nstr(v,19,min_fixed=0,max_fixed=0) for v in c[i:i+3])+",")
    out.append("};")
    print(name,len(c),mp.nstr(abs(c[-1]/max(abs(v) for v in c)),3))
e=mpf(10)**-30
def inv(f,s): # function of t in (0,1], t=s/x
    def g(u):
        t=(u+1)/2
        t=max(t,mpf(10)**-8)
        return f(s/t)
    return g
emit("i0e_small",cheb(lambda u:(lambda x:exp(-x)*besseli(0,x))(4*(u+1)),40))
emit("i0e_large",cheb(inv(lambda x:exp(-x)*sqrt(x)*besseli(0,x),mpf(8)),40))
emit("i1e_small",cheb(lambda u:(lambda x:exp(-x)*besseli(1,x)/x if x>1e-15 else mpf(1)/2)(4*(u+1)),40))
emit("i1e_large",cheb(inv(lambda x:exp(-x)*sqrt(x)*besseli(1,x),mpf(8)),40))
# K on (0,2]: variable x^2/2-1
def k0s(u):
    x=sqrt(2*(u+1)); x=max(x,mpf(10)**-12); return besselk(0,x)+log(x/2)*besseli(0,x)
def k1s(u):
    x=sqrt(2*(u+1)); x=max(x,mpf(10)**-10); return x*(besselk(1,x)-log(x/2)*besseli(1,x))
emit("k0_small",cheb(k0s,20)); emit("k1_small",cheb(k1s,20))
emit("k0_large",cheb(inv(lambda x:exp(x)*sqrt(x)*besselk(0,x),mpf(2)),40))
emit("k1_large",cheb(inv(lambda x:exp(x)*sqrt(x)*besselk(1,x),mpf(2)),40))
# J, Y on [0,8]: variable x^2/32-1
X=lambda u: max(sqrt(32*(u+1)),mpf(10)**-10)
emit("j0_small",cheb(lambda u: besselj(0,X(u)),30))
emit("j1_small",cheb(lambda u: besselj(1,X(u))/X(u),30))
emit("y0_small",cheb(lambda u: bessely(0,X(u))-2/pi*log(X(u))*besselj(0,X(u)),30))
emit("y1_small",cheb(lambda u: (bessely(1,X(u))-2/pi*(log(X(u))*besselj(1,X(u))-1/X(u)))/X(u),30))
# asymptotic: t=(8/x)^2, u=2t-1
def asy(n,which):
    def g(u):
        t=max((u+1)/2,mpf(10)**-9); x=8/sqrt(t); chi=x-(2*n+1)*pi/4; c=sqrt(pi*x/2)
        J=besselj(n,x);Y=bessely(n,x)
        P=c*(J*cos(chi)+Y*sin(chi)); Q=c*(Y*cos(chi)-J*sin(chi))
        return P if which=='p' else Q*x/8
    return g
for n in (0,1):
    for w in 'pq': emit("jy%d_%s"%(n,w),cheb(asy(n,w),26))
# airy
emit("airy_middle",cheb(lambda u: airyai(4*u),50))
def airl(u):
    t=max((u+1)/2,mpf(10)**-8); z=(mpf(16)/3)/t; x=(mpf(3)/2*z)**(mpf(2)/3)
    return 2*sqrt(pi)*x**mpf('0.25')*exp(z)*airyai(x)
emit("airy_large",cheb(airl,30))
def airn(which):
    def g(u):
        t=max((u+1)/2,mpf(10)**-9); z=(mpf(16)/3)/sqrt(t); x=(mpf(3)/2*z)**(mpf(2)/3); ph=z-pi/4; c=sqrt(pi)*x**mpf('0.25')
        A=airyai(-x);B=airybi(-x)
        F=c*(A*cos(ph)-B*sin(ph)); G=c*(A*sin(ph)+B*cos(ph))
        return F if which=='f' else G*z/(mpf(16)/3)
    return g
emit("airy_negative_f",cheb(airn('f'),26)); emit("airy_negative_g",cheb(airn('g'),26))
# erfcx: y=4/(4+x), u=2y-1
def ex(u):
    y=max((u+1)/2,mpf(10)**-8); x=4/y-4
    if x>1e4: return (1/(x*sqrt(pi)))*(1-1/(2*x*x))/y
    return exp(x*x)*erfc(x)/y
emit("erfcx",cheb(ex,60,160))
open(__import__('os').path.join(__import__('os').path.dirname(__import__('os').path.abspath(__file__)), '../../src/lower/special_coefficients.h'),'w').write("""// Chebyshev coefficients (c[0] is halved in the sum) of the special functions in pointwise_special.c, from 40-digit
// mpmath values at Chebyshev nodes: tests/lower/make_special_coefficients.py.
#ifndef TT_LOWER_SPECIAL_COEFFICIENTS_H_
#define TT_LOWER_SPECIAL_COEFFICIENTS_H_

"""+"\n".join(out)+"\n\n#endif  // TT_LOWER_SPECIAL_COEFFICIENTS_H_\n")
